"""Tools of well-known public servers: names, parameters, and what they say in a few words.

Each entry is server, tool, purpose, parameters with what is said of them, and whether it runs
code, commands or statements that it is handed. The wording is a paraphrase.
"""

from __future__ import annotations

from typing import NamedTuple


class KnownTool(NamedTuple):
    """A tool of a public server.

    Attributes:
        server: Name of the server.
        name: Name of the tool.
        purpose: Its description, paraphrased.
        parameters: What is said of each, by name; `[]` after a name marks a list of strings.
        required: Whether all of its parameters are required.
    """

    server: str
    name: str
    purpose: str
    parameters: dict[str, str]
    required: bool = True

    def input_schema(self) -> dict[str, object]:
        """Return its parameters as a JSON Schema."""
        properties: dict[str, object] = {}
        for parameter, text in self.parameters.items():
            kind = {"type": "array", "items": {"type": "string"}}
            kind = kind if parameter.endswith("[]") else {"type": "string"}
            properties[parameter.removesuffix("[]")] = kind | (
                {"description": text} if text else {}
            )
        required = list(properties) if self.required else []
        return {"type": "object", "properties": properties, "required": required}


RUNNERS = (
    KnownTool("desktop-commander", "start_process", "Start a terminal process.",
              {"command": "", "shell": ""}),
    KnownTool("desktop-commander", "execute_command", "Run a command in a terminal.",
              {"command": ""}),
    KnownTool("desktop-commander", "interact_with_process", "Send input to a running process.",
              {"input": ""}),
    KnownTool("kubernetes-mcp-server", "pods_exec", "Execute a command in a pod.",
              {"command[]": "Command to execute in the container", "name": "Name of the pod"}),
    KnownTool("kubernetes-mcp-server", "pods_run", "Run a pod with the given image.",
              {"image": "Container image to run in the pod"}),
    KnownTool("mcp-server-kubernetes", "exec_in_pod", "Run a command in a container.",
              {"name": "", "command[]": "Command as an array"}),
    KnownTool("mcp-server-kubernetes", "kubectl_generic", "Execute any kubectl command.",
              {"command": "The kubectl command to execute", "args[]": "More arguments"}),
    KnownTool("mcp-server-kubernetes", "kubectl_create", "Create resources from a file or flags.",
              {"image": "Image of the container", "command[]": "Command to run in the container"},
              required=False),
    KnownTool("mcp-server-commands", "run_command", "Run a command on this machine.",
              {"command": "Command with arguments", "stdin": "Text piped into it"}),
    KnownTool("cli-mcp-server", "run_command", "Allows execution of commands in a directory.",
              {"command": "Single command to execute"}),
    KnownTool("mcp-shell-server", "shell_execute", "Execute an allowed command.",
              {"command[]": "Command and its arguments", "directory": "Where to work"}),
    KnownTool("iterm-mcp", "write_to_terminal", "Writes to the active terminal, often a command.",
              {"command": "The command to run or text to write"}),
    KnownTool("playwright", "browser_evaluate", "Evaluate a JavaScript expression on the page.",
              {"function": "() => { /* code */ }"}),
    KnownTool("playwright", "browser_run_code", "Run a Playwright snippet.",
              {"code": "Playwright code to run"}),
    KnownTool("puppeteer", "puppeteer_evaluate", "Execute JavaScript in the console.",
              {"script": "JavaScript to execute"}),
    KnownTool("chrome-devtools", "evaluate_script", "Evaluate JavaScript in the selected page.",
              {"function": "JavaScript source to execute"}, required=False),
    KnownTool("e2b", "run_code", "Run Python in a sandbox.", {"code": ""}),
    KnownTool("run-python", "run_python_code", "Run Python and return what it prints.",
              {"python_code": "Python code to run"}),
    KnownTool("sqlite", "write_query", "Execute an INSERT, UPDATE or DELETE query.",
              {"query": "SQL query to execute"}),
    KnownTool("sqlite", "create_table", "Create a table in the database.",
              {"query": "CREATE TABLE SQL statement"}),
    KnownTool("postgres-mcp", "execute_sql", "Execute any SQL query.", {"sql": "SQL to run"}),
    KnownTool("supabase", "execute_sql", "Executes raw SQL in the database.",
              {"query": "The SQL query to execute"}),
    KnownTool("supabase", "apply_migration", "Applies a migration to the database, for DDL.",
              {"name": "In snake case", "query": "The SQL query to apply"}),
    KnownTool("neo4j-cypher", "write_neo4j_cypher", "Execute a write Cypher query.",
              {"query": "The Cypher query to execute"}),
    KnownTool("ssh-mcp", "exec", "Execute a shell command on a remote host.",
              {"command": "Shell command to execute"}),
    KnownTool("ssh-mcp", "privileged-command", "Execute a command with sudo.",
              {"command": "Command to execute with sudo"}),
    KnownTool("docker-mcp", "create-container", "Create a container.",
              {"image": "", "name": ""}),
    KnownTool("docker", "docker_exec", "Run a command in a container.", {"cmd": ""}),
    KnownTool("mcp-server-docker", "run_container", "Run an image in a new container.",
              {"image": "Docker image name", "command": "Command to run"}),
    KnownTool("jupyter", "execute_cell", "Execute a cell of the notebook.", {"cell_index": ""}),
    KnownTool("jupyter", "execute_code", "Run code in the kernel.",
              {"code": "Code to execute, magics and shell commands too"}),
    KnownTool("jupyter", "insert_execute_code_cell", "Insert a code cell and execute it.",
              {"cell_source": "Source of the cell"}),
    KnownTool("redis", "eval", "Evaluate a Lua script on the server.", {"script": ""}),
    KnownTool("aws-api", "call_aws", "Execute AWS CLI commands.",
              {"cli_command": "A complete AWS CLI command"}),
    KnownTool("windows-mcp", "Powershell-Tool", "Execute PowerShell commands.", {"command": ""}),
    KnownTool("macos-automator", "execute_script", "Run AppleScript or JXA.",
              {"script_content": "Raw script", "script_path": "Path of a script"}, required=False),
    KnownTool("applescript", "applescript_execute", "Run AppleScript code.",
              {"code_snippet": "Multi-line AppleScript code to execute"}),
    KnownTool("blender", "execute_blender_code", "Execute Python in Blender.",
              {"code": "The Python code to execute"}),
    KnownTool("tmux", "execute-command", "Execute a command in a tmux pane.",
              {"paneId": "", "command": "Command to execute"}),
    KnownTool("tmux-keys", "send_keys", "Send keys to a tmux pane.", {"pane": "", "keys": ""}),
    KnownTool("ssh-plain", "ssh", "Run something on a remote host.",
              {"host": "", "cmdString": "What to run remotely"}),
    KnownTool("repl", "repl", "Python REPL.", {"input": ""}),
    KnownTool("repl", "python", "Python interpreter.", {"input": ""}),
    KnownTool("repl", "python_repl", "Executes.", {"statements[]": ""}),
    KnownTool("repl", "ipython", "Stateful Jupyter kernel.", {"cell": "Contents"}),
    KnownTool("checker", "check_command", "Check by running the command in a shell.",
              {"command": "Command that is executed"}),
    KnownTool("checker", "validate_script", "Validates a script by executing it in the shell.",
              {"script": "Bash"}),
)  # fmt: skip

OTHERS = (
    KnownTool("desktop-commander", "read_process_output", "Read output from a running process.",
              {"pid": ""}),
    KnownTool("desktop-commander", "list_processes", "List all running processes.", {}),
    KnownTool("desktop-commander", "list_sessions", "List all active terminal sessions.", {}),
    KnownTool("desktop-commander", "search_code", "Search for text or code patterns.",
              {"pattern": "", "path": ""}),
    KnownTool("desktop-commander", "start_search", "Start a search that goes on as results come.",
              {"pattern": "", "path": ""}),
    KnownTool("desktop-commander", "read_file", "Read a file.", {"path": ""}),
    KnownTool("kubernetes-mcp-server", "pods_list", "List all pods.", {"labelSelector": ""}),
    KnownTool("kubernetes-mcp-server", "pods_get", "Get a pod.", {"name": "", "namespace": ""}),
    KnownTool("kubernetes-mcp-server", "pods_log", "Get the logs of a pod.", {"name": ""}),
    KnownTool("kubernetes-mcp-server", "pods_top", "List what pods consume.", {"name": ""}),
    KnownTool("kubernetes-mcp-server", "nodes_log", "Get the logs of a node.",
              {"name": "", "query": "Service or file to return logs of"}),
    KnownTool("mcp-server-kubernetes", "kubectl_get", "Get resources by type.",
              {"resourceType": "Type of resource", "name": ""}),
    KnownTool("mcp-server-kubernetes", "kubectl_describe", "Describe resources.", {"name": ""}),
    KnownTool("mcp-server-kubernetes", "kubectl_logs", "Get logs.", {"name": "", "container": ""}),
    KnownTool("mcp-server-kubernetes", "explain_resource", "Get documentation of a resource.",
              {"resource": "Name or field path"}),
    KnownTool("cli-mcp-server", "show_security_rules", "Show what commands are allowed.", {}),
    KnownTool("iterm-mcp", "read_terminal_output", "Reads the last lines of the terminal.",
              {"linesOfOutput": ""}),
    KnownTool("playwright", "browser_press_key", "Press a key.", {"key": "Name of the key"}),
    KnownTool("playwright", "browser_type", "Type text into an element.", {"text": ""}),
    KnownTool("playwright", "browser_snapshot", "Capture a snapshot of the page.", {"target": ""}),
    KnownTool("playwright", "browser_console_messages", "Returns all messages of the console.",
              {"level": ""}),
    KnownTool("playwright", "browser_wait_for", "Wait for text to appear.", {"text": ""}),
    KnownTool("puppeteer", "puppeteer_screenshot", "Take a screenshot.", {"selector": ""}),
    KnownTool("chrome-devtools", "navigate_page", "Go to a URL.",
              {"url": "", "initScript": "JavaScript to be executed on each new document"},
              required=False),
    KnownTool("chrome-devtools", "list_network_requests", "Lists requests.", {"types": ""}),
    KnownTool("sqlite", "read_query", "Execute a SELECT query.",
              {"query": "SELECT SQL query to run"}),
    KnownTool("sqlite", "list_tables", "List all tables.", {}),
    KnownTool("sqlite", "describe_table", "Get the schema of a table.", {"table_name": ""}),
    KnownTool("postgres", "query", "Run a read-only SQL query.", {"sql": ""}),
    KnownTool("postgres-mcp", "explain_query", "Explain the plan of a SQL query.",
              {"sql": "SQL query to explain"}),
    KnownTool("postgres-mcp", "get_top_queries", "Report the slowest SQL queries.",
              {"sort_by": "By total or mean time"}),
    KnownTool("supabase", "list_migrations", "Lists all migrations.", {}),
    KnownTool("supabase", "search_docs", "Search the documentation by GraphQL.",
              {"graphql_query": "GraphQL query string"}),
    KnownTool("neo4j-cypher", "read_neo4j_cypher", "Run a read Cypher query.",
              {"query": "The Cypher query to run"}),
    KnownTool("ssh-mcp", "sftp-list", "List a remote directory.", {"path": ""}),
    KnownTool("docker-mcp", "list-containers", "List all containers.", {}),
    KnownTool("docker-mcp", "get-logs", "Get the logs of a container.", {"container_name": ""}),
    KnownTool("docker", "list_running_containers", "List running containers.", {"image": ""}),
    KnownTool("jupyter", "read_cell", "Read a cell.", {"cell_index": ""}),
    KnownTool("jupyter", "list_kernels", "List the kernels.", {}),
    KnownTool("mongodb", "find", "Run a find query.", {"filter": "Query filter", "limit": ""}),
    KnownTool("redis", "hgetall", "Get all fields of a hash.", {"name": ""}),
    KnownTool("aws-api", "suggest_aws_commands", "Suggest AWS CLI commands to run for a request.",
              {"query": "A request in natural language"}),
    KnownTool("macos-automator", "get_scripting_tips", "Discover how to automate an app.",
              {"search_term": "", "category": ""}),
    KnownTool("github", "search_code", "Search code in repositories.", {"query": "Search query"}),
    KnownTool("github", "get_code_scanning_alert", "Get an alert.", {"alertNumber": ""}),
    KnownTool("context7", "query-docs", "Query the documentation of a library.",
              {"query": "The question to answer"}),
    KnownTool("weather", "get_weather_by_city", "Get the weather.",
              {"city": "", "country_code": "Two letters"}),
    KnownTool("trains", "get-station-code-by-names", "Look up codes of stations.",
              {"stationNames": "", "station_code": ""}),
    KnownTool("okppt", "save_svg_code", "Save SVG code as a file.", {"svg_code": "SVG code"}),
    KnownTool("calculator", "calculate", "Evaluates the given expression.", {"expression": ""}),
    KnownTool("linter", "lint_code", "Check code for mistakes before you run it.",
              {"code": "Source code to check"}),
    KnownTool("linter", "code_review", "Review code.", {"code": "Code to review"}),
    KnownTool("scripts", "list_scripts", "List the scripts.", {}),
    KnownTool("scripts", "describe_script", "Say what a script does when it is executed.",
              {"script": "Name of the script"}),
    KnownTool("manuals", "get_manual_page", "Show the manual of a command.",
              {"command": "Name of the command"}),
    KnownTool("logs", "decode_error", "Explain an error.",
              {"error_code": "", "message": ""}),
    KnownTool("addresses", "find_address", "Find an address.", {"postal_code": "", "query": ""}),
    KnownTool("oauth", "exchange_token", "Exchange a code for a token.",
              {"code": "Authorization code"}),
    KnownTool("grafana", "query_prometheus", "Query Prometheus by PromQL.",
              {"expr": "The PromQL expression to query"}),
    KnownTool("atlassian", "jira_search", "Search issues by JQL.", {"jql": "JQL query string"}),
)  # fmt: skip
