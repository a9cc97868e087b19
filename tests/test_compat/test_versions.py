"""Versions, the stand-in for mmcv.ops, and small differences of stacks."""

import importlib.util

import mmseg
import pytest
import torch
from mmseg.models import SegDataPreProcessor
from packaging.version import Version

from mmcar.compat import versions

MMSEG = ('mmseg', '1.2', '2.0', 'mmseg==1.2.2')


class TestCheckVersions:
    def test_names_found_needed_and_fix(self):
        for found in ('1.2.0', '1.2.2', '1.4.2'):
            versions.check_version(MMSEG, found)
        for found in ('0.30.0', '1.1.9', '2.0.0'):
            with pytest.raises(ImportError, match=rf'{found}.*mmseg==1\.2'):
                versions.check_version(MMSEG, found)

    def test_missing(self, monkeypatch):
        needed = ('no_such_package', '1', '2', 'it')
        monkeypatch.setattr(versions, 'REQUIREMENTS', (needed,))
        with pytest.raises(ImportError, match='Fix: pip install it'):
            versions.check_versions()

    def test_mmseg_that_refuses_mmcv(self, tmp_path, monkeypatch):
        (tmp_path / 'refusing.py').write_text('assert False, "mmcv too new"')
        monkeypatch.syspath_prepend(tmp_path)
        needed = ('refusing', '1', '2', '')
        monkeypatch.setattr(versions, 'REQUIREMENTS', (needed,))
        with pytest.raises(ImportError, match='pip install mmcv-lite'):
            versions.check_versions()


LITE = importlib.util.find_spec('mmcv._ext') is None
OFFICIAL = Version(mmseg.__version__) < versions.MMSEG_WITHOUT_OPS


class TestOps:
    @pytest.mark.skipif(not (LITE and OFFICIAL), reason='no stand-in here')
    def test_missing_op_complains_when_used(self):
        from mmcv.ops import DeformConv2d, point_sample

        assert isinstance(DeformConv2d, type)
        with pytest.raises(ImportError, match='point_sample is not in'):
            point_sample(torch.zeros(1), torch.zeros(1))

        class Derived(DeformConv2d):
            pass

        with pytest.raises(ImportError, match='DeformConv2d'):
            Derived(3, 4, kernel_size=3)


@pytest.mark.parametrize('swap', [True, False])
def test_swaps_channels(swap):
    """By what the installed MMSeg does to an image, not by attribute."""
    own = SegDataPreProcessor(
        mean=[0.0] * 3, std=[1.0] * 3, bgr_to_rgb=swap, size=(1, 1)
    )
    image = torch.arange(3).view(3, 1, 1)
    seen = own(dict(inputs=[image]))['inputs'].flatten().tolist()
    assert (seen == [2, 1, 0]) == swap == versions.swaps_channels(own)
