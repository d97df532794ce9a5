#!/usr/bin/env python3
# GitLab's program glab 1.53, as far as mas needs it, for machines that have none: what the real one asks gitlab.py, by
# GLAB_PORT, and what it prints. It asks for the project o/r.
import json
import os
import sys
import urllib.error
import urllib.request

API = f"http://127.0.0.1:{os.environ['GLAB_PORT']}/api/"


def ask(path, data=None):
    """Returns a status and an answer."""
    body = json.dumps(data).encode() if data else None
    request = urllib.request.Request(API + path, body, {'Private-Token': 'glpat-secret'})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def message(body):
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    errors = [error['message'] for error in answer.get('errors', [])] if isinstance(answer, dict) else []
    return answer.get('message') or '\n'.join(errors) if isinstance(answer, dict) else None


def api(words):
    path, fields = words[0], dict(word.split('=', 1) for word in words[2::2])
    if path != 'graphql':
        status, body = ask('v4/' + path)
    else:
        number = json.loads(ask('v4/projects/o%2Fr')[1])['id']
        fields['p'] = fields['p'].replace(':id', str(number))
        status, body = ask(path, {'query': fields.pop('query'), 'variables': fields})
    sys.stdout.buffer.write(body)
    why = message(body) if path == 'graphql' or status >= 400 else None
    if why or status > 299:
        sys.exit(f'glab: {why} (HTTP {status})' if why and status > 299 else f'glab: {why or f"HTTP {status}"}')


def create(words):
    of = dict(zip(words[1::2], words[2::2]))  # behind --yes
    print(f"\nCreating merge request for {of['--source-branch']} into {of['--target-branch']} in o/r\n", file=sys.stderr)
    status, body = ask(f"v4/projects/{of['--head'].replace('/', '%2F')}/merge_requests", {
        'title': of['--title'], 'description': of['--description'], 'source_branch': of['--source-branch'],
        'target_branch': of['--target-branch'], 'target_project_id': 5})
    if status > 299:
        sys.exit("Failed to create merge request. Created recovery file: /x\nRun the command again with the '--recover'"
                 f" option to retry.\nPOST {API}v4/projects/o/r/merge_requests: {status} {{message: {message(body)}}}")
    print(json.loads(body)['web_url'])


if sys.argv[1] == 'api':
    api(sys.argv[2:])
else:
    create(sys.argv[3:])
