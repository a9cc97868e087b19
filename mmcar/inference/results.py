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
#: Longest side of an image in a figure; larger ones are shown smaller.
SHOWN = 1536
FIGURES = ('uncertainty', 'hypotheses', 'contours', 'promises')
KINDS = ('decision', 'samples', 'overlay', 'npz', *FIGURES)
ARRAYS = (
    *('decision', 'samples', 'sample_weights', 'class_probs'),
    *('sample_probs', 'entropy', 'sample_entropy'),
)


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
        maps = (
            sample.pred_samples.data.cpu(),
            sample.seg_logits.data.float().cpu().exp(),
            sample.sample_probs.data.float().cpu(),
            sample.pred_sem_seg.data[0].cpu(),
        )
        how = meta, threshold, independent, sample.get('sample_weights')
        return cls.of_maps(loaded, *maps, *how)

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
                        named(c, names, 'before', 'after') for c in h.changes
                    ],
                )
                for h in self.hypotheses
            ],
            class_flips=[
                named(s, names, 'source', 'twin') for s in self.flip_states
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
        overlay = Image.fromarray(
            pictures.overlay_labels(self.image, self.decision, self.palette)
        )
        write_file(path('overlay'), pictures.encode_picture(overlay))
        for kind in FIGURES:  # another run may have left some
            path(kind).unlink(missing_ok=True)
        path('npz', '.npz').unlink(missing_ok=True)
        for kind, figure in self.figures().items() if figures else ():
            pictures.write_figure(path(kind), figure, DPI)
        if npz:
            groups = np.empty(len(self.samples), np.int16)
            for number, hypothesis in enumerate(self.hypotheses):
                groups[list(hypothesis.members)] = number
            arrays = {name: getattr(self, name) for name in ARRAYS}
            packed = io.BytesIO()
            np.savez_compressed(packed, hypothesis_of_sample=groups, **arrays)
            write_file(path('npz', '.npz'), packed.getvalue())

    def figures(self) -> dict[str, 'Figure']:
        """Draw ``uncertainty``, ``hypotheses`` and what else there is.

        ``contours`` if K = 2, ``promises`` if something is promised.
        """
        with needing('figures'):
            from .. import report
            from ..report import pictures
        height, width = self.decision.shape
        if max(height, width) > SHOWN:
            size = pictures.shown_size((height, width), SHOWN)
            return self._picked(size).figures()
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
            shown = self.samples[[h.representative for h in self.hypotheses]]
            figures['promises'] = report.draw_promises(
                self.image, shown, self.promises
            )
        return figures

    def _picked(self, size: tuple[int, int]) -> 'InferenceResult':
        """The result at a smaller size, for figures."""
        from ..report.pictures import pick_pixels, shrunk

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
        image = shrunk(self.image, size)
        return replace(self, image=image, boxplot=box, **maps)


def claim_out_dir(out_dir: str | Path, inputs: Inputs = ()) -> Path:
    """Make an output folder, and make sure that files can be written.

    Args:
        out_dir: The folder.
        inputs: Where the images come from; outputs must not be among them
            the next time.

    Raises:
        UserError: They cannot; better now than after the first image.
    """
    out_dir = Path(out_dir)
    given = [inputs] if isinstance(inputs, OneInput) else inputs
    out = out_dir.resolve()
    paths = [one for one in given if isinstance(one, str | Path)]
    for root in [Path(str(one).partition('**')[0]) for one in paths]:
        whole = os.path.isdir(root)
        source = (root if whole else root.parent).resolve()
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
    probe = out_dir / '.writable'
    try:
        write_file(probe, b'')
        probe.unlink()
    except OSError as error:
        raise UserError(
            f'{out_dir}: no files can be written there ({error}); expected a '
            'folder with write access, or the name of a new one'
        ) from error
    return out_dir


def named(row: Any, names: Sequence[str], *keys: str) -> dict[str, Any]:
    """A named tuple as a dict, with names in place of its class ids."""
    return row._asdict() | {key: names[getattr(row, key)] for key in keys}
