"""What a model says about one image, and the files that show it."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..evaluation.functional import (
    ContourBoxplot,
    FlipState,
    Hypothesis,
    contour_boxplot,
    describe_changes,
    entropy,
    find_flip_states,
    hypotheses,
)
from ..structures import ClassFlips
from ..structures.colours import overlay_palette
from ..utils.errors import UserError, needing
from ..utils.files import inside, write_file, write_files
from .image_list import Inputs, LoadedImage, OneInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .promises import ImagePromise

DPI = 110
SHOWN = 1536
"""Longest side of an image in a figure; larger ones are shown smaller."""
FIGURES = ('uncertainty', 'hypotheses', 'contours', 'promises')
KINDS = ('decision', 'samples', 'overlay', 'npz', *FIGURES)


@dataclass
class InferenceResult:
    """What a model says about one image, of height H and width W.

    Attributes:
        name: Relative name of the image's files, without suffix.
        path: The image's file; None for an array.
        image: RGB (H, W, 3) uint8.
        decision: Most probable class of each pixel (H, W) uint8 or int16.
        samples: Label maps drawn (S, H, W).
        sample_weights: Share of all draws for which each stands (S,): alike,
            but for support points.
        hypotheses: The samples in groups, most probable first.
        class_probs: Pixelwise probabilities (K, H, W) float32.
        sample_probs: Mean of the samples' probabilities (K, H, W) float32.
        entropy: Of ``class_probs``, (H, W), in nats.
        sample_entropy: Of ``sample_probs``, (H, W), in nats.
        flip_states: How often each switchable class is itself or its twin.
        boxplot: Contour boxplot of the foreground; None if K > 2.
        classes: Names of the K classes.
        palette: Colours (K, 3) uint8.
        independent: Whether the samples are independent of each other; those
            of Sobol noise and support points are not.
        promises: What is promised of the image, class by class.
    """

    name: str
    path: str | None
    image: np.ndarray
    decision: np.ndarray
    samples: np.ndarray
    sample_weights: np.ndarray
    hypotheses: list[Hypothesis]
    class_probs: np.ndarray
    sample_probs: np.ndarray
    entropy: np.ndarray
    sample_entropy: np.ndarray
    flip_states: list[FlipState]
    boxplot: ContourBoxplot | None
    classes: Sequence[str]
    palette: np.ndarray
    independent: bool = True
    promises: 'Sequence[ImagePromise]' = ()

    @classmethod
    def of(
        cls,
        loaded: LoadedImage,
        sample: Any,
        meta: Mapping,
        threshold: float | None = None,
        independent: bool = True,
    ) -> 'InferenceResult':
        """Collect what a `StochasticSegmentor` predicted.

        Args:
            loaded: The image.
            sample: Data sample with the predictions.
            meta: See :meth:`of_maps`, as all that follows.
            threshold: Likewise.
            independent: Likewise.
        """
        return cls.of_maps(
            loaded,
            sample.pred_samples.data.cpu(),
            sample.seg_logits.data.float().cpu().exp(),
            sample.sample_probs.data.float().cpu(),
            sample.pred_sem_seg.data[0].cpu(),
            meta,
            threshold,
            independent,
            sample.get('sample_weights'),
        )

    @classmethod
    def of_maps(
        cls,
        loaded: LoadedImage,
        samples: Tensor,
        probs: Tensor,
        mean: Tensor,
        decision: Tensor,
        meta: Mapping,
        threshold: float | None = None,
        independent: bool = True,
        weights: Tensor | None = None,
    ) -> 'InferenceResult':
        """Look at samples in every way there is.

        Args:
            loaded: The image.
            samples: Label maps (S, H, W).
            probs: Pixelwise probabilities (K, H, W).
            mean: Mean of the samples' probabilities (K, H, W).
            decision: Most probable class of each pixel (H, W).
            meta: ``classes``, and where known ``palette``, ``class_flips``.
            threshold: Distance from which hypotheses differ; None: by rule.
            independent: Whether the samples are independent of each other.
            weights: What each sample stands for (S,); None: the same.
        """
        number, decision = len(probs), decision.to(samples.dtype)
        flips = ClassFlips.parse(meta.get('class_flips'), number)
        if weights is None:
            weights = torch.ones(len(samples)).double() / len(samples)
        weights = weights.cpu()
        groups = hypotheses(
            samples,
            decision,
            num_classes=number,
            classes=flips.ids or None,
            threshold=threshold,
            sample_weights=weights,
        )
        return cls(
            name=loaded.name,
            path=loaded.path,
            image=loaded.picture,
            decision=decision.numpy(),
            samples=samples.numpy(),
            sample_weights=weights.numpy(),
            hypotheses=groups,
            class_probs=probs.numpy(),
            sample_probs=mean.numpy(),
            entropy=entropy(probs).numpy(),
            sample_entropy=entropy(mean).numpy(),
            flip_states=find_flip_states(samples, flips, weights),
            boxplot=contour_boxplot(samples == 1) if number == 2 else None,
            classes=meta['classes'],
            palette=overlay_palette(number, meta.get('palette')),
            independent=independent,
        )

    def summary(self) -> dict:
        """The result in words and numbers, for a JSON file."""
        names = self.classes
        return dict(
            name=self.name,
            path=self.path,
            num_samples=len(self.samples),
            sample_weights=self.sample_weights.tolist(),
            independent_samples=self.independent,
            entropy=float(self.entropy.mean()),
            sample_entropy=float(self.sample_entropy.mean()),
            hypotheses=[
                dict(
                    probability=h.probability,
                    samples=list(h.members),
                    representative=h.representative,
                    description=describe_changes(h.changes, names),
                    changes=[
                        c._asdict()
                        | dict(before=names[c.before], after=names[c.after])
                        for c in h.changes
                    ],
                )
                for h in self.hypotheses
            ],
            class_flips=[
                s._asdict() | dict(source=names[s.source], twin=names[s.twin])
                for s in self.flip_states
            ],
            promises=[one.summary() for one in self.promises],
        )

    def save(
        self, out_dir: str | Path, npz: bool = False, figures: bool = True
    ) -> None:
        """Write label maps, overlays and figures below a folder.

        What an earlier run has left there of this image is replaced or
        removed.

        Args:
            out_dir: The folder; each kind of file has a folder in it.
            npz: Also write all arrays, as ``npz/<name>.npz``.
            figures: Draw uncertainty, hypotheses and contours, which takes
                longer than the rest.
        """
        with needing('figures'):
            from PIL import Image

            from ..report import pictures

        def path(kind: str, ending: str = '.png') -> Path:
            return inside(Path(out_dir) / kind, self.name + ending)

        maps = {path('decision'): self.decision}
        for k, sample in enumerate(self.samples):
            maps[path('samples', f'/{k:03d}.png')] = sample
        write_files(
            (p, pictures.encode_labels(m, self.palette))
            for p, m in maps.items()
        )
        pictures.drop_samples(path('samples', ''), len(self.samples))
        overlay = pictures.overlay_labels(
            self.image, self.decision, self.palette
        )
        write_file(
            path('overlay'), pictures.encode_picture(Image.fromarray(overlay))
        )
        drawn = self.figures() if figures else {}
        for kind in FIGURES:
            if kind in drawn:
                pictures.write_figure(path(kind), drawn[kind], DPI)
            else:  # what another run has left
                path(kind).unlink(missing_ok=True)
        if npz:
            write_file(path('npz', '.npz'), self._packed())
        else:
            path('npz', '.npz').unlink(missing_ok=True)

    def figures(self) -> dict[str, 'Figure']:
        """Draw ``uncertainty``, ``hypotheses`` and what else there is.

        ``contours`` if K = 2, ``promises`` if something is promised.
        """
        with needing('figures'):
            from .. import report
            from ..report import pictures
        height, width = self.decision.shape
        if max(height, width) > SHOWN:
            return self._picked(
                pictures.shown_size((height, width), SHOWN)
            ).figures()
        maps = {
            'pixelwise probabilities': self.entropy,
            f'mean of {len(self.samples)} samples': self.sample_entropy,
        }
        figures = dict(
            uncertainty=report.draw_uncertainty(
                self.image, maps, len(self.classes)
            ),
            hypotheses=report.draw_hypotheses(
                self.image,
                self.decision,
                self.samples,
                self.hypotheses,
                self.classes,
                self.palette,
                self.flip_states,
            ),
        )
        if self.boxplot is not None:
            figures['contours'] = report.draw_contour_boxplot(
                self.image, self.samples == 1, self.boxplot, self.classes[1]
            )
        if self.promises:
            maps = self.samples[[h.representative for h in self.hypotheses]]
            figures['promises'] = report.draw_promises(
                self.image, maps, self.promises
            )
        return figures

    def _picked(self, size: tuple[int, int]) -> 'InferenceResult':
        """The result at a smaller size, for figures."""
        import cv2

        from ..report.pictures import pick_pixels

        box = self.boxplot
        if box is not None:
            regions = {
                name: torch.from_numpy(pick_pixels(maps.numpy(), size))
                for name, maps in box._asdict().items()
                if isinstance(maps, torch.Tensor) and maps.ndim == 2
            }
            box = box._replace(**regions)
        names = ('decision', 'samples', 'entropy', 'sample_entropy')
        maps = {name: pick_pixels(getattr(self, name), size) for name in names}
        image = cv2.resize(
            self.image, size[::-1], interpolation=cv2.INTER_AREA
        )
        return replace(self, image=image, boxplot=box, **maps)

    def _packed(self) -> bytes:
        """All arrays, as an NPZ file."""
        groups = np.empty(len(self.samples), np.int16)
        for number, hypothesis in enumerate(self.hypotheses):
            groups[list(hypothesis.members)] = number
        packed = io.BytesIO()
        np.savez_compressed(
            packed,
            decision=self.decision,
            samples=self.samples,
            sample_weights=self.sample_weights,
            hypothesis_of_sample=groups,
            class_probs=self.class_probs,
            sample_probs=self.sample_probs,
            entropy=self.entropy,
            sample_entropy=self.sample_entropy,
        )
        return packed.getvalue()


def claim_out_dir(out_dir: str | Path, inputs: Inputs = ()) -> Path:
    """Make an output folder, and make sure that files can be written.

    Args:
        out_dir: The folder.
        inputs: Where the images come from; outputs must not be among them
            the next time.

    Raises:
        UserError: They cannot; better now than after the first image.
    """
    given = [inputs] if isinstance(inputs, OneInput) else inputs
    for one in given:
        if not isinstance(one, str | Path):
            continue
        root = Path(str(one).partition('**')[0])
        whole = os.path.isdir(root)
        source = (root if whole else root.parent).resolve()
        out = Path(out_dir).resolve()
        if whole and out.is_relative_to(source):
            raise UserError(
                f'{out_dir}: this folder lies in {root}, where the images '
                'come from, so that results would be taken for images the '
                'next time; choose one outside.'
            )
        if any(source.is_relative_to(out / kind) for kind in KINDS):
            raise UserError(
                f'{out_dir}: results would be written into {source}, over '
                'the images themselves; choose another folder.'
            )
    probe = Path(out_dir) / '.writable'
    try:
        write_file(probe, b'')
        probe.unlink()
    except OSError as error:
        raise UserError(
            f'{out_dir}: no files can be written there ({error}); expected a '
            'folder with write access, or the name of a new one'
        ) from error
    return Path(out_dir)
