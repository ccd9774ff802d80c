import pytest
from tests.factories import ServerFactory, ToolFactory, RelationFactory, EvidenceFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway")]

def test_it(root):
    s = ServerFactory(name="git", last_error="x", last_output=["a"])
    a = ToolFactory(server=s, name="log", input_schema={"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"]})
    b = ToolFactory(server=s, name="add")
    EvidenceFactory(relation=RelationFactory(source=a, target=b))
    for path in ["/servers/", "/servers/git/", "/servers/add/", "/servers/add/?way=json","/servers/add/?way=known&known=github","/servers/add/?way=url","/servers/add/?way=command", "/servers/add/test/?server=git", "/tools/","/tools/?q=read+file", "/tools/git:log/", "/tools/changed/", "/danger/", "/playground/", "/graph/", "/graph/data/", "/graph/?source=git:log&target=git:add"]:
        answer = root.get(path)
        print(path, answer.status_code, len(answer.content))
        assert answer.status_code == 200, answer.content.decode()
    answer=root.post("/playground/", {"intent":"read the log","action":"ask"})
    assert answer.status_code==200
    print(len(answer.content))
