#!/usr/bin/env python3
# What GitHub answers to its program gh, over a Unix socket (http_unix_socket in gh's config.yml), where gh speaks
# HTTP without TLS, whatever the host.
#
#   forge.py SOCKET DIR
#
# There is one repository, o/r, which is DIR/remote.git, and at most one pull request, 12, of it or, if DIR/fork.git is
# there, of that fork, which is me/r. It is made of the files of watch.bats: pr, head, checks, comments, reviews, lines,
# log, access-USER. While DIR/refuse is there, each request that has its first line in the path or the body gets its
# second line, a status, and the rest as an answer.
import json
import re
import socketserver
import subprocess
import sys
from http.server import BaseHTTPRequestHandler

from forge_files import has_checks, head, is_fork, path, read

SOCKET = sys.argv[1]
PAGE = 'https://github.com/o/r/pull/12'
BLOBS = 'blobs.example.net'


def page(nodes, first, after):
    """A connection: so many nodes, behind the cursor of the last one."""
    begin = int(after or 0)
    end = begin + first
    return {'nodes': nodes[begin:end], 'totalCount': len(nodes),
            'pageInfo': {'hasNextPage': end < len(nodes), 'endCursor': str(end)}}


def checks():
    return json.loads(read('checks')) if has_checks() else []


def node(check):
    """A check, as GraphQL has what gh prints of it."""
    name = check.get('workflowName')
    suite = {'workflowRun': {'workflow': {'name': name}} if name else None}
    return dict(check, checkSuite=suite) if check['__typename'] == 'CheckRun' else check


def pull(after):
    if read('pr') is None:
        return None
    contexts = [node(check) for check in checks()]
    rollup = {'contexts': page(contexts, 100, after)} if contexts else None
    return {'id': 'PR_12', 'number': 12, 'url': PAGE, 'state': read('pr').strip(), 'headRefOid': head(),
            'baseRefName': 'main', 'headRefName': 'mas/fix', 'isCrossRepository': is_fork(),
            'headRepositoryOwner': {'id': 'U_1', 'login': 'me' if is_fork() else 'o', 'name': ''},
            'statusCheckRollup': {'nodes': [{'commit': {'statusCheckRollup': rollup}}]},
            'reviews': page(json.loads(read('reviews')), 100, after),
            'comments': page(json.loads(read('comments')), 100, after)}


REPOSITORY = {'id': 'R_1', 'name': 'r', 'owner': {'login': 'o'}, 'hasIssuesEnabled': True, 'description': '',
              'hasWikiEnabled': True, 'viewerPermission': 'WRITE', 'defaultBranchRef': {'name': 'main'},
              'parent': None, 'mergeCommitAllowed': True, 'rebaseMergeAllowed': True, 'squashMergeAllowed': True}


def graphql(request):
    """Returns the data of an answer, and its errors."""
    name = re.search(r'(?:query|mutation) (\w+)', request['query']).group(1)
    of = request['variables']
    one = pull(of.get('endCursor'))
    if name == 'PullRequestForBranch':
        is_wanted = one and of['headRefName'] == one['headRefName'] and one['state'] in (of['states'] or one['state'])
        found = [one] if is_wanted else []
        return {'repository': {'pullRequests': {'nodes': found}, 'defaultBranchRef': {'name': 'main'}}}, None
    if name == 'PullRequestByNumber':
        if one and of['pr_number'] == 12:
            return {'repository': {'pullRequest': one}}, None
        return {'repository': {'pullRequest': None}}, 'Could not resolve to a PullRequest'
    if name == 'PullRequestCreate':
        if of['input']['headRefName'] != ('me:mas/fix' if is_fork() else 'mas/fix'):
            return {'createPullRequest': None}, "Head sha can't be blank"
        with open(path('pr'), 'w', encoding='utf-8') as file:
            file.write('OPEN\n')
        return {'createPullRequest': {'pullRequest': {'id': 'PR_12', 'url': PAGE}}}, None
    if name == 'RepositoryInfo':
        return {'repository': REPOSITORY}, None
    # a page more, in which gh allows nothing that it did not ask for
    return {'node': {key: one[key] for key in one if key + '(' in request['query']}}, None


class Forge(BaseHTTPRequestHandler):
    def address_string(self):
        return 'gh'

    def log_message(self, *_):
        pass

    def give(self, status, body, kind='application/json', **headers):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(text)))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if text:
            self.wfile.write(text)

    def answer(self, body):
        host = self.headers['Host']
        is_known = self.headers['Authorization'] == 'token gho_secret'
        if host == BLOBS:  # whose own signature is in the address: it takes no other one
            log = subprocess.run(['sh', path('log')], capture_output=True, check=False)
            lines = [b'2023-01-01T00:00:00.0000000Z ' + line for line in log.stdout.splitlines(True)]
            ok = log.returncode == 0 and self.headers['Authorization'] is None
            return self.give(200 if ok else 400, b''.join(lines), 'text/plain')
        refuse = read('refuse')
        if refuse is not None:
            what, status, text = refuse.split('\n', 2)
            if what in self.path or what.encode() in body:
                return self.give(int(status), text.encode(), **{'Retry-After': '60'})
        if host != 'api.github.com' or not is_known:
            return self.give(401, {'message': 'Bad credentials'})
        if self.path == '/graphql':
            data, error = graphql(json.loads(body))
            return self.give(200, {'data': data, **({'errors': [{'message': error}]} if error else {})})
        if self.path.startswith('/repos/o/r/pulls/12/comments?'):
            return self.give(200, read('lines').encode())
        job = re.fullmatch(r'/repos/o/r/actions/jobs/(\d+)/logs', self.path)
        if job:
            return self.give(302, b'', Location=f'https://{BLOBS}/{job.group(1)}?sig=x')
        user = re.fullmatch(r'/repos/o/r/collaborators/(\w+)/permission', self.path)
        if user and read(f'access-{user.group(1)}'):
            return self.give(200, read(f'access-{user.group(1)}').encode())
        if user:
            return self.give(403, {'message': 'Must have push access to view collaborator permission.'})
        return self.give(404, {'message': 'Not Found'})

    def do_GET(self):
        self.answer(b'')

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers['Content-Length'])))


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


Server(SOCKET, Forge).serve_forever()
