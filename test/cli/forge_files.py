"""The files of watch.bats of which forge.py and gitlab.py make their answers, in the directory that is their last word."""
import os
import subprocess
import sys

DIR = sys.argv[-1]


def path(name):
    return os.path.join(DIR, name)


def read(name, other=None):
    try:
        with open(path(name), encoding='utf-8') as file:
            return file.read()
    except FileNotFoundError:
        return other


def is_fork():
    return os.path.exists(path('fork.git'))


def head():
    of = path('fork.git' if is_fork() else 'remote.git')
    commit = read('head') or subprocess.run(['git', f'--git-dir={of}', 'rev-parse', 'mas/fix'],
                                            capture_output=True, check=False, text=True).stdout
    return commit.strip()


def has_checks():
    """Returns whether the checks are of the newest commit: a new one has none."""
    if read('checks-of') is None:
        with open(path('checks-of'), 'w', encoding='utf-8') as file:
            file.write(head() + '\n')
    return read('checks-of').strip() == head()
