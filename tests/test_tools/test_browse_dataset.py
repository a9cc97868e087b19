import cv2

from ..test_datasets.samples import make_set
from .scripts import load_script
from .test_check_dataset import write_config
from .test_dataset_converters.reading import ALL


def with_pipeline(tmp_path):
    config = write_config(tmp_path, ('train',))
    with open(config, 'a') as file:
        file.write(f"train_dataloader['dataset']['pipeline'] = {ALL}\n")
    return config


def test_page_and_pictures(tmp_path, capsys):
    make_set(tmp_path, ('a', 'b', 'c'), (2, 3, 1))
    config, out = with_pipeline(tmp_path), tmp_path / 'out'
    tool = load_script('analysis_tools/browse_dataset.py')
    tool.main([config, str(out)])
    assert '3 of 3 images' in capsys.readouterr().out
    page = (out / 'index.html').read_text()
    pictures = sorted(out.glob('*.png'))
    assert len(pictures) == 3
    for picture, annotators in zip(pictures, (2, 3, 1), strict=True):
        assert picture.name in page
        height, width = cv2.imread(str(picture)).shape[:2]
        assert (height, width) == (12, 16 * (2 + annotators))
    assert 'thing' in page
