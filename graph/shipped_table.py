"""Relations between the tools of well-known public MCP servers, as Foregate ships them.

Names are those that the servers themselves list: the reference servers of the Model Context
Protocol project (filesystem, git, time, fetch, memory) and GitHub's public MCP server. A relation
is listed only if it follows from what the two tools do. A `depends_on` here is never required:
none of these calls fails only because another was not made before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from graph.relations import RelationKind


class ShippedRelation(NamedTuple):
    """A relation between two tools by their names.

    Attributes:
        confidence: Probability that one matters if the other is used, in [0, 1].
    """

    source: str
    kind: RelationKind
    target: str
    confidence: float
    reason: str


@dataclass(frozen=True, kw_only=True)
class ShippedServer:
    """How to recognise a server, whatever its name, and how its tools relate.

    Attributes:
        typical_tools: Names of long-standing tools.
        relations: Relations between its tools.
        required_parameters: Pairs of a tool and a parameter it must have, for servers with
            common tool names.
    """

    typical_tools: frozenset[str]
    relations: tuple[ShippedRelation, ...]
    required_parameters: tuple[tuple[str, str], ...] = ()


def _split_names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _parse_relations(text: str) -> tuple[ShippedRelation, ...]:
    """Parse lines of the form `source kind target confidence: reason`."""
    return tuple(map(_parse_relation, text.strip().splitlines()))


def _parse_relation(line: str) -> ShippedRelation:
    head, _, reason = line.strip().partition(": ")
    source, kind, target, confidence = head.split()
    return ShippedRelation(source, RelationKind(kind), target, float(confidence), reason)


FILESYSTEM: Final = ShippedServer(
    typical_tools=_split_names(
        """
        read_file read_multiple_files write_file edit_file create_directory list_directory
        directory_tree move_file search_files get_file_info list_allowed_directories
        """
    ),
    relations=_parse_relations(
        """
        read_text_file replaces read_file 1: the server calls read_file deprecated
        read_text_file precedes edit_file 0.9: an edit names the text it replaces
        search_files precedes read_text_file 0.8: it finds the path to read
        list_directory precedes read_text_file 0.7: it shows the paths to read
        search_files precedes read_multiple_files 0.75: it finds the paths to read
        search_files precedes edit_file 0.6: it finds the path to edit
        search_files precedes move_file 0.6: it finds the path to move
        create_directory precedes write_file 0.75: the folder of a file must exist
        create_directory precedes move_file 0.7: the folder moved to must exist
        get_file_info precedes read_text_file 0.5: it tells the size before reading
        read_text_file validates write_file 0.7: it shows what was written
        read_text_file validates edit_file 0.75: it shows the file after the edit
        list_directory validates move_file 0.6: it shows where the file is now
        edit_file alternative_to write_file 0.6: parts of a file, or all of it
        read_multiple_files alternative_to read_text_file 0.7: several files at once, or one
        list_directory_with_sizes alternative_to list_directory 0.9: sizes too, or names only
        directory_tree alternative_to list_directory 0.7: all that is below a folder, or one level
        write_file depends_on list_allowed_directories 0.6: only these folders are open
        read_text_file depends_on list_allowed_directories 0.6: only these folders are open
        search_files depends_on list_allowed_directories 0.6: only these folders are open
        list_directory depends_on list_allowed_directories 0.6: only these folders are open
        """
    ),
)

GIT: Final = ShippedServer(
    typical_tools=_split_names(
        """
        git_status git_diff_unstaged git_diff_staged git_diff git_commit git_add git_reset
        git_log git_create_branch git_checkout git_show
        """
    ),
    relations=_parse_relations(
        """
        git_add precedes git_commit 0.95: a commit records what is staged
        git_status precedes git_add 0.85: it shows the files that could be staged
        git_diff_unstaged precedes git_add 0.8: it shows what would be staged
        git_diff_staged precedes git_commit 0.85: it shows what would be committed
        git_status precedes git_commit 0.75: it shows whether anything is staged
        git_diff_staged validates git_add 0.85: it shows what is staged now
        git_log validates git_commit 0.75: it shows the new commit
        git_show validates git_commit 0.65: it shows what the commit holds
        git_status validates git_reset 0.75: it shows that nothing is staged now
        git_status precedes git_checkout 0.6: open changes can prevent a switch
        git_create_branch precedes git_checkout 0.9: creating does not switch to it
        git_branch precedes git_checkout 0.75: it lists the branches
        git_branch precedes git_diff 0.6: it lists the branches to compare with
        git_log precedes git_show 0.85: it lists the commits to show
        git_log precedes git_diff 0.6: it lists the commits to compare with
        git_init precedes git_add 0.6: a new repository has nothing staged
        """
    ),
)

TIME: Final = ShippedServer(
    typical_tools=_split_names("get_current_time convert_time"),
    relations=_parse_relations(
        """
        get_current_time precedes convert_time 0.65: it gives the time to convert
        """
    ),
)

FETCH: Final = ShippedServer(
    typical_tools=_split_names("fetch"),
    relations=(),
    required_parameters=(("fetch", "url"),),
)

MEMORY: Final = ShippedServer(
    typical_tools=_split_names(
        """
        create_entities create_relations add_observations delete_entities delete_observations
        delete_relations read_graph search_nodes open_nodes
        """
    ),
    relations=_parse_relations(
        """
        create_entities precedes create_relations 0.9: both ends should exist
        create_entities precedes add_observations 0.75: the entity must exist
        search_nodes precedes open_nodes 0.85: it finds the names to open
        search_nodes precedes add_observations 0.8: it finds the entity's name
        search_nodes precedes create_entities 0.7: it shows what exists already
        search_nodes precedes create_relations 0.7: it finds the names of both ends
        search_nodes precedes delete_entities 0.75: it finds the names to delete
        open_nodes precedes delete_observations 0.8: it shows their exact words
        open_nodes precedes delete_relations 0.8: it shows how they are stated
        open_nodes validates create_entities 0.65: it shows what was stored
        open_nodes validates add_observations 0.7: it shows what was stored
        read_graph validates create_relations 0.6: it shows what was stored
        read_graph alternative_to search_nodes 0.7: the whole graph, or a part of it
        """
    ),
)

GITHUB: Final = ShippedServer(
    typical_tools=_split_names(
        """
        get_me get_file_contents list_commits get_commit list_branches search_code
        search_repositories list_issues search_issues list_pull_requests
        """
    ),
    relations=_parse_relations(
        """
        search_code precedes get_file_contents 0.85: it finds the file to read
        get_repository_tree precedes get_file_contents 0.75: it lists the files
        search_repositories precedes get_file_contents 0.6: it finds the repository
        list_commits precedes get_commit 0.9: it lists the commits
        search_commits precedes get_commit 0.85: it finds the commit
        list_tags precedes get_tag 0.85: it lists the tags
        list_releases precedes get_release_by_tag 0.8: it lists the releases' tags
        list_branches precedes create_branch 0.6: it shows which branches exist
        create_repository precedes push_files 0.7: a new repository is filled
        create_branch precedes push_files 0.85: the branch must exist
        create_branch precedes create_or_update_file 0.85: the branch must exist
        create_branch precedes create_pull_request 0.75: a branch is to be merged
        get_file_contents precedes create_or_update_file 0.85: an update names the file's SHA
        get_file_contents precedes delete_file 0.7: it shows what is deleted
        push_files alternative_to create_or_update_file 0.8: several files in a commit, or one
        push_files precedes create_pull_request 0.85: a branch needs a commit
        create_or_update_file precedes create_pull_request 0.8: a branch needs a commit
        list_pull_requests precedes pull_request_read 0.9: it lists their numbers
        search_pull_requests precedes pull_request_read 0.85: it finds the number
        search_pull_requests alternative_to list_pull_requests 0.75: by words, or a repository's
        pull_request_read validates create_pull_request 0.7: it shows its checks
        request_copilot_review validates create_pull_request 0.6: it asks for a review
        create_pull_request precedes merge_pull_request 0.75: it makes what is merged
        pull_request_read precedes merge_pull_request 0.85: it shows the checks
        pull_request_read precedes update_pull_request 0.75: it shows what it is
        update_pull_request_branch precedes merge_pull_request 0.7: it catches up with the base
        pull_request_read precedes pull_request_review_write 0.9: it shows the diff
        add_comment_to_pending_review depends_on pull_request_review_write 0.9: it begins a review
        add_comment_to_pending_review precedes submit_pending_pull_request_review 0.9: it publishes
        submit_pending_pull_request_review depends_on create_pull_request_review 0.8: which begins
        list_issues precedes issue_read 0.9: it lists their numbers
        search_issues precedes issue_read 0.9: it finds the number
        search_issues alternative_to list_issues 0.8: by words, or those of a repository
        search_issues precedes issue_write 0.7: it shows whether there is one
        issue_read precedes issue_write 0.75: it shows what would be changed
        issue_read precedes add_issue_comment 0.85: it shows what was said
        issue_read precedes assign_copilot_to_issue 0.7: it shows what is to do
        list_issue_types precedes issue_write 0.55: it lists the types allowed
        issue_write precedes sub_issue_write 0.7: both issues must exist
        actions_list precedes actions_get 0.9: it lists the ids
        actions_list precedes actions_run_trigger 0.75: it lists the workflows
        actions_list precedes get_job_logs 0.85: it lists the runs and jobs
        actions_get validates actions_run_trigger 0.75: it shows how the run ends
        list_code_scanning_alerts precedes get_code_scanning_alert 0.9: it lists them
        list_dependabot_alerts precedes get_dependabot_alert 0.9: it lists them
        list_secret_scanning_alerts precedes get_secret_scanning_alert 0.9: it lists them
        list_notifications precedes get_notification_details 0.85: it lists them
        list_notifications precedes dismiss_notification 0.8: it lists them
        list_discussions precedes get_discussion 0.9: it lists their numbers
        list_discussions precedes get_discussion_comments 0.8: it lists their numbers
        list_gists precedes get_gist 0.9: it lists their ids
        get_gist precedes update_gist 0.85: it shows what would be changed
        projects_list precedes projects_get 0.9: it lists the projects' numbers
        projects_get precedes projects_write 0.8: it shows the fields and items
        get_teams precedes get_team_members 0.85: it lists the teams
        """
    ),
)

KNOWN_SERVERS: Final = {
    "filesystem": FILESYSTEM,
    "git": GIT,
    "time": TIME,
    "fetch": FETCH,
    "memory": MEMORY,
    "github": GITHUB,
}

RELATIONS_BETWEEN_SERVERS: Final = {
    ("fetch", "filesystem"): _parse_relations(
        """
        fetch precedes write_file 0.6: a page can be saved
        """
    ),
    ("filesystem", "git"): _parse_relations(
        """
        write_file precedes git_add 0.7: files are written, then staged
        edit_file precedes git_add 0.75: files are changed, then staged
        """
    ),
    ("git", "filesystem"): _parse_relations(
        """
        git_diff_unstaged validates edit_file 0.6: it shows what has changed
        """
    ),
}
"""Relations from tools of one of the servers to tools of another."""
