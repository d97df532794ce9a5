#!/usr/bin/env python3
# What GitLab answers to its program glab, without TLS (api_host and api_protocol in glab's config.yml).
#
#   gitlab.py DIR
#
# It writes its port to DIR/port. There is the project o/r, which is DIR/remote.git, and, if DIR/fork.git is there, its
# fork me/r. There are at most one merge request of mas/fix, 12, and a newer one, 13, of the same name by a stranger, who
# has closed many more. It is made of the files of watch.bats: pr, head, log, and, as GraphQL has them, pipeline, notes,
# reviewers. While DIR/refuse is there, each request that has its first line in the path or the body gets its second
# line, a status, and the rest as an answer.
import json
import os
import re
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from forge_files import has_checks, head, is_fork, path, read

PROJECTS = {'o/r': 5, 'me/r': 6}
# so that what mas asks for is what was tried: the names, of GitLab 16 and later
ASKED = set('''query p ID w String projects ids nodes mergeRequests sourceBranches iids iid sourceProject fullPath webUrl
    state diffHeadSha reviewers username mergeRequestInteraction reviewState notes last id body system resolved
    maxAccessLevelOfAuthor author position newPath newLine headPipeline status project jobs retried false statuses
    FAILED name allowFailure opened begin end first fragment n on NoteConnection'''.split())


def pipeline():
    return json.loads(read('pipeline', 'null')) if has_checks() else None


def request():
    source = 'me/r' if is_fork() else 'o/r'
    return {'iid': '12', 'webUrl': 'https://gitlab.example.net/o/r/-/merge_requests/12', 'state': read('pr').strip(),
            'diffHeadSha': head(), 'sourceProject': {'fullPath': source}, 'headPipeline': pipeline(),
            'begin': {'nodes': json.loads(read('notes', '[]'))[:50]},
            'end': {'nodes': json.loads(read('notes', '[]'))[-50:]},
            'reviewers': {'nodes': json.loads(read('reviewers', '[]'))}}


def graphql(query, of):
    """Returns the data of an answer, and its errors."""
    odd = set(re.findall(r'\w+', query)) - ASKED - {'1', '50'}
    if odd:
        return None, f"Field '{odd.pop()}' doesn't exist"
    if of['p'] != 'gid://gitlab/Project/5':
        return {'projects': {'nodes': []}}, None
    there = [request()] if read('pr') else []
    if 'sourceBranches' in query:
        is_open = 'state:opened' in query
        found = [{'iid': '13', 'sourceProject': {'fullPath': 'eve/r'}}, {'iid': '14', 'sourceProject': None}]
        found += [it for it in there if it['state'] == 'opened'] if is_open else found * 49 + there
        found = found[:100] if of['w'] == 'mas/fix' else []
    else:
        found = there if of['w'] == '12' else []
    return {'projects': {'nodes': [{'mergeRequests': {'nodes': found}}]}}, None


class GitLab(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def give(self, status, body, kind='application/json'):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def open(self, source, said):
        if said['source_branch'] != 'mas/fix' or said['target_project_id'] != 5 or (source == 'me/r') != is_fork():
            return self.give(400, {'message': {'source_branch': ['does not exist']}})
        if read('pr', 'closed').strip() == 'opened':
            return self.give(409, {'message': ['Another open merge request already exists for this source branch: !12']})
        for name, text in (('pr', 'opened'), ('opened', json.dumps(said))):
            with open(path(name), 'w', encoding='utf-8') as file:
                file.write(text + '\n')
        return self.give(201, {'iid': 12, 'web_url': request()['webUrl'], 'title': said['title'], 'state': 'opened'})

    def answer(self, body):
        refuse = read('refuse')
        if refuse is not None:
            what, status, text = refuse.split('\n', 2)
            if what in self.path or what.encode() in body:
                return self.give(int(status), text.encode(), 'application/json' if text.startswith('{') else 'text/plain')
        if self.headers.get('Private-Token', '') != 'glpat-secret' and \
                self.headers.get('Authorization') != 'Bearer glpat-secret':
            return self.give(401, {'message': '401 Unauthorized'})
        if self.path.rstrip('/') == '/api/graphql':
            asked = json.loads(body)
            data, error = graphql(asked['query'], asked['variables'])
            return self.give(200, {'data': data, **({'errors': [{'message': error}]} if error else {})})
        job = re.fullmatch(r'/api/v4/projects/5/jobs/(\d+)/trace', self.path)
        if job:
            log = subprocess.run(['sh', path('log')], capture_output=True, check=False)
            return self.give(200, log.stdout, 'text/plain')  # nothing while there is none
        of = re.fullmatch(r'/api/v4/projects/([^/?]+)(/merge_requests)?(\?.*)?', self.path)
        name = unquote(of.group(1)) if of else None
        if name not in PROJECTS:
            return self.give(404, {'message': '404 Project Not Found'})
        if of.group(2):
            return self.open(name, json.loads(body))
        return self.give(200, {'id': PROJECTS[name], 'path_with_namespace': name, 'merge_requests_enabled': True,
                               'http_url_to_repo': f'https://gitlab.example.net/{name}.git', 'default_branch': 'main'})

    def do_GET(self):
        self.answer(b'')

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers['Content-Length'])))


server = ThreadingHTTPServer(('127.0.0.1', 0), GitLab)
with open(path('new-port'), 'w', encoding='utf-8') as out:
    out.write(str(server.server_port))
os.rename(path('new-port'), path('port'))
server.serve_forever()
