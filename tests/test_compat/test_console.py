"""What a quiet console shows, and what it leaves to the log file."""

from mmengine.logging import MMLogger

from mmcar.compat.console import quieten


def test_only_warnings_that_concern_the_user_are_shown(tmp_path, capsys):
    file = tmp_path / 'log.txt'
    logger = MMLogger(name='quiet', log_file=str(file))
    quieten(logger)
    logger.info('Hooks will be executed in the following order')
    logger.warning('"FileClient" will be deprecated in future. Please')
    logger.warning('update skipped')
    logger.warning('update skipped')
    logger.warning('unexpected: ' + 'weight, ' * 200)
    out, err = capsys.readouterr()
    first, second = err.splitlines()
    assert not out and first == 'warning: update skipped'
    assert second.startswith('warning: unexpected') and len(second) < 700
    log = file.read_text()
    assert 'Hooks will be' in log
    assert 'FileClient' in log
    assert 'update skipped' in log
    assert 'weight, ' * 200 in log
