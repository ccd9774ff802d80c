CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
CREATE FUNCTION public.execution_follow_account() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
        UPDATE execution_workflowexecution
        SET idempotency_key = '', "user" = CASE TG_OP
            WHEN 'UPDATE' THEN NEW.username
            ELSE left(OLD.username, 120) || ' (deleted ' || OLD.id || ')' END
        WHERE "user" = OLD.username;
        UPDATE execution_speculation SET "user" = CASE TG_OP
            WHEN 'UPDATE' THEN NEW.username
            ELSE left(OLD.username, 120) || ' (deleted ' || OLD.id || ')' END
        WHERE "user" = OLD.username;
        RETURN NULL;
    END $$;
CREATE FUNCTION public.execution_notify_speculation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
        PERFORM pg_notify('foregate_speculation', TG_TABLE_NAME);
        RETURN NULL;
    END
    $$;
CREATE FUNCTION public.gateway_digest_user_name(name text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT encode(sha256(convert_to(name, 'UTF8')), 'hex')
$$;
CREATE FUNCTION public.gateway_notify_of_migrations() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('foregate_replaced', '');
    RETURN NULL;
END
$$;
CREATE FUNCTION public.gateway_queue_deliveries(about text, team bigint, content jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO gateway_project_webhookdelivery (
        webhook_id, event, data, occurred_at, attempts, status, next_attempt_at, ended_at, error)
    SELECT hook.id, about, content, now(), 0,
        CASE WHEN queue.is_full THEN 'given_up' ELSE 'pending' END,
        CASE WHEN queue.is_full THEN NULL ELSE now() END,
        CASE WHEN queue.is_full THEN now() END,
        CASE WHEN queue.is_full THEN 'too many messages waited for this webhook' ELSE '' END
    FROM gateway_project_webhook AS hook, LATERAL (
        SELECT count(*) >= 1000 AS is_full FROM (
            SELECT FROM gateway_project_webhookdelivery AS waiting
            WHERE waiting.webhook_id = hook.id AND waiting.status = 'pending'
            LIMIT 1000) AS counted) AS queue
    WHERE hook.enabled AND about = ANY(hook.events) AND (
        hook.team_id IS NULL OR hook.team_id = team
        OR (team IS NULL AND about = 'definition.changed'));
    IF FOUND THEN
        PERFORM pg_notify('foregate_deliveries', '');
    END IF;
END
$$;
CREATE FUNCTION public.gateway_refuse_user_name() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.username IN ('', '.', '..') THEN
        RAISE EXCEPTION 'no user can be named %', quote_literal(NEW.username)
        USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM gateway_project_retiredusername AS retired
        WHERE retired.digest = gateway_digest_user_name(NEW.username)
        AND retired.account <> NEW.id
    ) THEN
        RAISE EXCEPTION 'the name % was that of another user', quote_literal(NEW.username)
        USING ERRCODE = 'unique_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE FUNCTION public.gateway_retire_user_name() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO gateway_project_retiredusername (digest, account)
    VALUES (gateway_digest_user_name(OLD.username), OLD.id)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.gateway_tell_approval() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM gateway_queue_deliveries('approval.waiting', run.team_id, jsonb_build_object(
        'approval', NEW.id, 'run', NEW.run_id, 'task', NEW.task, 'tool', NEW.tool,
        'reason', NEW.reason, 'user', run."user", 'expires_at', NEW.expires_at))
    FROM execution_workflowexecution AS run WHERE run.id = NEW.run_id;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.gateway_tell_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM gateway_queue_deliveries('definition.changed', server.team_id, jsonb_build_object(
        'id', NEW.id, 'tool', server.name || ':' || NEW.name, 'server', server.name))
    FROM tools_server AS server WHERE server.id = NEW.server_id;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.gateway_tell_failure() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM gateway_queue_deliveries('run.failed', NEW.team_id, jsonb_build_object(
        'run', NEW.id, 'code', NEW.error_code, 'user', NEW."user"));
    RETURN NULL;
END
$$;
CREATE FUNCTION public.graph_fittedmodel_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
        IF EXISTS (SELECT FROM touched) THEN
            PERFORM pg_notify('foregate_graph', 'fitted');
        END IF;
        RETURN NULL;
    END
    $$;
CREATE FUNCTION public.graph_patternembedding_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
        IF EXISTS (SELECT FROM touched) THEN
            PERFORM pg_notify('foregate_graph', 'patterns');
        END IF;
        RETURN NULL;
    END
    $$;
CREATE FUNCTION public.graph_relationevidence_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    DECLARE
        amount bigint;
        named text;
    BEGIN
        SELECT count(*) INTO amount
        FROM (SELECT DISTINCT relation_id FROM touched LIMIT 10001) AS few;
        IF amount > 10000 THEN
            PERFORM pg_notify('foregate_graph', 'all');
            RETURN NULL;
        END IF;
        FOR named IN
            SELECT string_agg(id::text, ',' ORDER BY id)
            FROM (
                SELECT id, sum(length(id::text) + 1) OVER (ORDER BY id) / 7860 AS part
                FROM (SELECT DISTINCT relation_id AS id FROM touched) AS every
            ) AS placed
            GROUP BY part
        LOOP
            PERFORM pg_notify('foregate_graph', 'relations:' || named);
        END LOOP;
        RETURN NULL;
    END
    $$;
CREATE FUNCTION public.graph_tooldependency_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    DECLARE
        amount bigint;
        named text;
    BEGIN
        SELECT count(*) INTO amount
        FROM (SELECT DISTINCT id FROM touched LIMIT 10001) AS few;
        IF amount > 10000 THEN
            PERFORM pg_notify('foregate_graph', 'all');
            RETURN NULL;
        END IF;
        FOR named IN
            SELECT string_agg(id::text, ',' ORDER BY id)
            FROM (
                SELECT id, sum(length(id::text) + 1) OVER (ORDER BY id) / 7860 AS part
                FROM (SELECT DISTINCT id AS id FROM touched) AS every
            ) AS placed
            GROUP BY part
        LOOP
            PERFORM pg_notify('foregate_graph', 'relations:' || named);
        END LOOP;
        RETURN NULL;
    END
    $$;
CREATE FUNCTION public.graph_workflowpattern_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
        IF EXISTS (SELECT FROM touched) THEN
            PERFORM pg_notify('foregate_graph', 'patterns');
        END IF;
        RETURN NULL;
    END
    $$;
CREATE FUNCTION public.tools_add_private_team() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO tools_team (name, approve_from, requires_second_person, created_at, person_id)
    VALUES (left(NEW.username, 100), 'dangerous', false, now(), NEW.id)
    ON CONFLICT (person_id) DO UPDATE SET name = excluded.name;
    RETURN NULL;
END $$;
CREATE FUNCTION public.tools_notify_catalogue() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            PERFORM pg_notify('foregate_catalogue', TG_TABLE_NAME);
            RETURN NULL;
        END
        $$;
CREATE FUNCTION public.tools_notify_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            PERFORM pg_notify('foregate_search', TG_TABLE_NAME);
            RETURN NULL;
        END
        $$;
CREATE TABLE public.account_emailaddress (
    id integer NOT NULL,
    email character varying(254) NOT NULL,
    verified boolean NOT NULL,
    "primary" boolean NOT NULL,
    user_id integer NOT NULL
);
ALTER TABLE public.account_emailaddress ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.account_emailaddress_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.account_emailconfirmation (
    id integer NOT NULL,
    created timestamp with time zone NOT NULL,
    sent timestamp with time zone,
    key character varying(64) NOT NULL,
    email_address_id integer NOT NULL
);
ALTER TABLE public.account_emailconfirmation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.account_emailconfirmation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group (
    id integer NOT NULL,
    name character varying(150) NOT NULL
);
ALTER TABLE public.auth_group ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group_permissions (
    id bigint NOT NULL,
    group_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_group_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_permission (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    content_type_id integer NOT NULL,
    codename character varying(100) NOT NULL
);
ALTER TABLE public.auth_permission ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_permission_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_user (
    id integer NOT NULL,
    password character varying(128) NOT NULL,
    last_login timestamp with time zone,
    is_superuser boolean NOT NULL,
    username character varying(150) NOT NULL,
    first_name character varying(150) NOT NULL,
    last_name character varying(150) NOT NULL,
    email character varying(254) NOT NULL,
    is_staff boolean NOT NULL,
    is_active boolean NOT NULL,
    date_joined timestamp with time zone NOT NULL
);
CREATE TABLE public.auth_user_groups (
    id bigint NOT NULL,
    user_id integer NOT NULL,
    group_id integer NOT NULL
);
ALTER TABLE public.auth_user_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.auth_user ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_user_user_permissions (
    id bigint NOT NULL,
    user_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_user_user_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_user_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.axes_accessattempt (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    get_data text NOT NULL,
    post_data text NOT NULL,
    failures_since_start integer NOT NULL,
    CONSTRAINT axes_accessattempt_failures_since_start_check CHECK ((failures_since_start >= 0))
);
ALTER TABLE public.axes_accessattempt ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accessattempt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.axes_accessattemptexpiration (
    access_attempt_id integer NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE public.axes_accessfailurelog (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    locked_out boolean NOT NULL
);
ALTER TABLE public.axes_accessfailurelog ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accessfailurelog_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.axes_accesslog (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    logout_time timestamp with time zone,
    session_hash character varying(64) NOT NULL
);
ALTER TABLE public.axes_accesslog ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accesslog_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_admin_log (
    id integer NOT NULL,
    action_time timestamp with time zone NOT NULL,
    object_id text,
    object_repr character varying(200) NOT NULL,
    action_flag smallint NOT NULL,
    change_message text NOT NULL,
    content_type_id integer,
    user_id integer NOT NULL,
    CONSTRAINT django_admin_log_action_flag_check CHECK ((action_flag >= 0))
);
ALTER TABLE public.django_admin_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_admin_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_content_type (
    id integer NOT NULL,
    app_label character varying(100) NOT NULL,
    model character varying(100) NOT NULL
);
ALTER TABLE public.django_content_type ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_content_type_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_migrations (
    id bigint NOT NULL,
    app character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp with time zone NOT NULL
);
ALTER TABLE public.django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_session (
    session_key character varying(40) NOT NULL,
    session_data text NOT NULL,
    expire_date timestamp with time zone NOT NULL
);
CREATE TABLE public.execution_approval (
    id uuid NOT NULL,
    task text NOT NULL,
    item integer NOT NULL,
    tool text NOT NULL,
    definition_hash character varying(64) NOT NULL,
    arguments_digest character varying(64) NOT NULL,
    reason text NOT NULL,
    status character varying(10) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    decided_at timestamp with time zone,
    decided_by character varying(150) NOT NULL,
    decided_via character varying(12) NOT NULL,
    used_at timestamp with time zone,
    run_id uuid NOT NULL,
    CONSTRAINT approval_status_known CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'approved'::character varying, 'rejected'::character varying, 'used'::character varying, 'expired'::character varying, 'withdrawn'::character varying])::text[])))
);
CREATE TABLE public.execution_budgetreservation (
    id uuid NOT NULL,
    dollars numeric(10,6) NOT NULL,
    reserved_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    spent_at timestamp with time zone,
    server_id bigint NOT NULL,
    team_id bigint,
    CONSTRAINT reservation_positive CHECK ((dollars > (0)::numeric))
);
CREATE TABLE public.execution_executionevent (
    id bigint NOT NULL,
    seq bigint NOT NULL,
    kind character varying(30) NOT NULL,
    task text NOT NULL,
    item integer NOT NULL,
    at timestamp with time zone NOT NULL,
    data jsonb NOT NULL,
    run_id uuid NOT NULL,
    CONSTRAINT execution_executionevent_seq_check CHECK ((seq >= 0))
);
ALTER TABLE public.execution_executionevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_executionevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_payload (
    id bigint NOT NULL,
    kind character varying(10) NOT NULL,
    task text NOT NULL,
    item bigint NOT NULL,
    content bytea NOT NULL,
    size bigint NOT NULL,
    run_id uuid NOT NULL,
    CONSTRAINT execution_payload_size_check CHECK ((size >= 0))
);
ALTER TABLE ONLY public.execution_payload ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE public.execution_payload ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_payload_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_runcommand (
    id bigint NOT NULL,
    action character varying(10) NOT NULL,
    "user" character varying(150) NOT NULL,
    kind character varying(10) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    applied_at timestamp with time zone,
    outcome character varying(60) NOT NULL,
    detail jsonb NOT NULL,
    run_id uuid NOT NULL
);
ALTER TABLE public.execution_runcommand ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_runcommand_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_speculation (
    id uuid NOT NULL,
    "user" character varying(150) NOT NULL,
    form character varying(10) NOT NULL,
    shadow boolean NOT NULL,
    context_hash bigint NOT NULL,
    domain_hash bigint NOT NULL,
    confidence double precision NOT NULL,
    ranked_confidence double precision NOT NULL,
    threshold double precision NOT NULL,
    admitted boolean NOT NULL,
    runnable boolean NOT NULL,
    tools bigint[] NOT NULL,
    workflow_digest character varying(64) NOT NULL,
    saves_ms double precision,
    tokens integer,
    created_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    evidence character varying(12) NOT NULL,
    run uuid,
    changed_tools bigint[],
    verdict character varying(8) NOT NULL,
    outcome character varying(8) NOT NULL,
    explicit boolean NOT NULL,
    weight double precision NOT NULL,
    resolved_at timestamp with time zone,
    team_id bigint,
    fallback character varying(40) NOT NULL,
    tasks jsonb,
    took_ms double precision,
    context_sealed text NOT NULL,
    content bytea,
    CONSTRAINT execution_speculation_tokens_check CHECK ((tokens >= 0)),
    CONSTRAINT speculation_confidence_in_range CHECK (((confidence >= (0.0)::double precision) AND (confidence <= (1.0)::double precision))),
    CONSTRAINT speculation_outcome_known CHECK (((outcome)::text = ANY ((ARRAY[''::character varying, 'hit'::character varying, 'miss'::character varying, 'rejected'::character varying, 'modified'::character varying, 'failed'::character varying, 'expired'::character varying])::text[]))),
    CONSTRAINT speculation_resolved_once CHECK (((((outcome)::text = ''::text) AND (resolved_at IS NULL)) OR ((NOT ((outcome)::text = ''::text)) AND (resolved_at IS NOT NULL))))
);
CREATE TABLE public.execution_speculationagreement (
    id bigint NOT NULL,
    definition_hash character varying(64) NOT NULL,
    launch_hash character varying(64) NOT NULL,
    agreed integer NOT NULL,
    disagreed integer NOT NULL,
    ages_s double precision[] NOT NULL,
    compared_at timestamp with time zone NOT NULL,
    reset_by character varying(150) NOT NULL,
    reset_at timestamp with time zone,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT execution_speculationagreement_agreed_check CHECK ((agreed >= 0)),
    CONSTRAINT execution_speculationagreement_disagreed_check CHECK ((disagreed >= 0))
);
ALTER TABLE public.execution_speculationagreement ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_speculationagreement_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_speculationbudget (
    id bigint NOT NULL,
    waste double precision NOT NULL,
    calls_per_minute integer NOT NULL,
    dollars_per_day numeric(10,4) NOT NULL,
    server_id bigint NOT NULL,
    CONSTRAINT budget_dollars_not_negative CHECK ((dollars_per_day >= (0)::numeric)),
    CONSTRAINT budget_waste_in_range CHECK (((waste >= (0.0)::double precision) AND (waste <= (1.0)::double precision))),
    CONSTRAINT execution_speculationbudget_calls_per_minute_check CHECK ((calls_per_minute >= 0))
);
ALTER TABLE public.execution_speculationbudget ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_speculationbudget_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_speculationcontrol (
    id smallint NOT NULL,
    is_on boolean NOT NULL,
    changed_by character varying(150) NOT NULL,
    changed_at timestamp with time zone,
    CONSTRAINT execution_speculationcontrol_id_check CHECK ((id >= 0)),
    CONSTRAINT speculation_control_one_row CHECK ((id = 1))
);
CREATE TABLE public.execution_speculationgrant (
    id bigint NOT NULL,
    definition_hash character varying(64) NOT NULL,
    launch_hash character varying(64) NOT NULL,
    is_closed_world boolean NOT NULL,
    granted_by character varying(150) NOT NULL,
    granted_at timestamp with time zone NOT NULL,
    note character varying(1000) NOT NULL,
    revoked_by character varying(150) NOT NULL,
    revoked_at timestamp with time zone,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT grant_by_somebody CHECK ((NOT ((granted_by)::text = ''::text))),
    CONSTRAINT grant_hashes_whole CHECK ((((definition_hash)::text ~ '^[0-9a-f]{64}$'::text) AND ((launch_hash)::text ~ '^[0-9a-f]{64}$'::text))),
    CONSTRAINT grant_revoked_by_somebody CHECK ((((revoked_at IS NULL) AND ((revoked_by)::text = ''::text)) OR ((revoked_at >= granted_at) AND (revoked_at IS NOT NULL) AND (NOT ((revoked_by)::text = ''::text)))))
);
ALTER TABLE public.execution_speculationgrant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_speculationgrant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_taskrun (
    id bigint NOT NULL,
    task text NOT NULL,
    item integer NOT NULL,
    "position" integer NOT NULL,
    tool text NOT NULL,
    status character varying(16) NOT NULL,
    attempts integer NOT NULL,
    definition_hash character varying(64) NOT NULL,
    arguments_digest character varying(64) NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    duration_ms double precision,
    error_code character varying(60) NOT NULL,
    result_bytes bigint,
    run_id uuid NOT NULL,
    CONSTRAINT execution_taskrun_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT execution_taskrun_position_check CHECK (("position" >= 0)),
    CONSTRAINT execution_taskrun_result_bytes_check CHECK ((result_bytes >= 0)),
    CONSTRAINT task_status_known CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'running'::character varying, 'waiting_approval'::character varying, 'succeeded'::character varying, 'failed'::character varying, 'skipped'::character varying, 'cancelled'::character varying, 'unknown'::character varying])::text[])))
);
ALTER TABLE public.execution_taskrun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.execution_taskrun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.execution_workflowexecution (
    id uuid NOT NULL,
    "user" character varying(150) NOT NULL,
    scopes jsonb NOT NULL,
    kind character varying(10) NOT NULL,
    is_direct boolean NOT NULL,
    status character varying(16) NOT NULL,
    options jsonb NOT NULL,
    version integer NOT NULL,
    tasks_total integer NOT NULL,
    idempotency_key character varying(64) NOT NULL,
    request_digest character varying(64) NOT NULL,
    owner character varying(64) NOT NULL,
    epoch integer NOT NULL,
    lease_until timestamp with time zone,
    last_seq bigint NOT NULL,
    error_code character varying(60) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    changed_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    deadline_at timestamp with time zone,
    delivered_at timestamp with time zone,
    learned_at timestamp with time zone,
    team_id bigint,
    tool_group character varying(64) NOT NULL,
    CONSTRAINT execution_workflowexecution_epoch_check CHECK ((epoch >= 0)),
    CONSTRAINT execution_workflowexecution_last_seq_check CHECK ((last_seq >= 0)),
    CONSTRAINT execution_workflowexecution_tasks_total_check CHECK ((tasks_total >= 0)),
    CONSTRAINT execution_workflowexecution_version_check CHECK ((version >= 0)),
    CONSTRAINT run_status_known CHECK (((status)::text = ANY ((ARRAY['queued'::character varying, 'running'::character varying, 'paused'::character varying, 'waiting'::character varying, 'succeeded'::character varying, 'partial_success'::character varying, 'failed'::character varying, 'aborted'::character varying, 'unknown'::character varying])::text[])))
);
CREATE TABLE public.gateway_project_apitoken (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    prefix character varying(12) NOT NULL,
    digest character varying(64) NOT NULL,
    scopes jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    team_id bigint,
    user_id integer NOT NULL,
    last_used_at timestamp with time zone,
    tool_group_id bigint,
    CONSTRAINT token_is_hashed CHECK (((digest)::text ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT token_scopes_are_texts CHECK (jsonb_path_exists(scopes, 'strict $?(@.type() == "array" && !(exists (@[*]?(@.type() != "string"))))'::jsonpath))
);
ALTER TABLE public.gateway_project_apitoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_apitoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_auditentry (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor character varying(150) NOT NULL,
    kind character varying(10) NOT NULL,
    action character varying(60) NOT NULL,
    subject text NOT NULL,
    request_id character varying(32) NOT NULL,
    detail jsonb NOT NULL,
    team_id bigint,
    user_id integer
);
ALTER TABLE public.gateway_project_auditentry ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_auditentry_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_idempotentrequest (
    id bigint NOT NULL,
    digest character varying(64) NOT NULL,
    request_digest character varying(64) NOT NULL,
    status smallint,
    content bytea,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT gateway_project_idempotentrequest_status_check CHECK ((status >= 0))
);
ALTER TABLE public.gateway_project_idempotentrequest ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_idempotentrequest_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_metrictotal (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    labels jsonb NOT NULL,
    value double precision NOT NULL
);
ALTER TABLE public.gateway_project_metrictotal ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_metrictotal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_oauthclient (
    id bigint NOT NULL,
    client_id character varying(255) NOT NULL,
    redirect_uris text NOT NULL,
    post_logout_redirect_uris text NOT NULL,
    client_type character varying(32) NOT NULL,
    authorization_grant_type character varying(44) NOT NULL,
    client_secret character varying(255) NOT NULL,
    hash_client_secret boolean NOT NULL,
    name character varying(255) NOT NULL,
    skip_authorization boolean NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    algorithm character varying(5) NOT NULL,
    allowed_origins text NOT NULL,
    registration_source character varying(32) NOT NULL,
    cimd_expires_at timestamp with time zone,
    user_id integer,
    registered_from character varying(45) NOT NULL
);
ALTER TABLE public.gateway_project_oauthclient ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_oauthclient_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_onetimepassword (
    id bigint NOT NULL,
    digest character varying(64) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    user_id integer NOT NULL
);
ALTER TABLE public.gateway_project_onetimepassword ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_onetimepassword_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_retiredusername (
    digest character varying(64) NOT NULL,
    account bigint NOT NULL
);
CREATE TABLE public.gateway_project_webhook (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    url character varying(2000) NOT NULL,
    events character varying(30)[] NOT NULL,
    secret_sealed text NOT NULL,
    enabled boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    team_id bigint,
    CONSTRAINT webhook_events_known CHECK ((events <@ ARRAY['approval.waiting'::character varying(30), 'run.failed'::character varying(30), 'definition.changed'::character varying(30)])),
    CONSTRAINT webhook_url_known CHECK (((url)::text ~ '^(https?://|mailto:)[^ ]+$'::text))
);
ALTER TABLE public.gateway_project_webhook ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_webhook_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gateway_project_webhookdelivery (
    id bigint NOT NULL,
    event character varying(30) NOT NULL,
    data jsonb NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    status character varying(10) NOT NULL,
    attempts smallint NOT NULL,
    next_attempt_at timestamp with time zone,
    error character varying(300) NOT NULL,
    ended_at timestamp with time zone,
    webhook_id bigint NOT NULL,
    CONSTRAINT gateway_project_webhookdelivery_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT webhook_delivery_status_known CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'delivered'::character varying, 'given_up'::character varying])::text[])))
);
ALTER TABLE public.gateway_project_webhookdelivery ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.gateway_project_webhookdelivery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_fittedmodel (
    id bigint NOT NULL,
    embedding_model character varying(200) NOT NULL,
    content bytea NOT NULL,
    bindings bytea NOT NULL,
    digest character varying(64) NOT NULL,
    refused character varying(64) NOT NULL,
    failure text NOT NULL,
    fitted_at timestamp with time zone NOT NULL,
    seconds double precision NOT NULL,
    peak_memory_mb integer NOT NULL,
    figures jsonb NOT NULL,
    team_id bigint,
    CONSTRAINT graph_fittedmodel_peak_memory_mb_check CHECK ((peak_memory_mb >= 0))
);
ALTER TABLE public.graph_fittedmodel ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_fittedmodel_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_graphsnapshot (
    id bigint NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    digest character varying(64) NOT NULL,
    reason character varying(20) NOT NULL,
    tools integer NOT NULL,
    relations integer NOT NULL,
    statistics jsonb NOT NULL,
    content bytea NOT NULL,
    CONSTRAINT graph_graphsnapshot_relations_check CHECK ((relations >= 0)),
    CONSTRAINT graph_graphsnapshot_tools_check CHECK ((tools >= 0))
);
ALTER TABLE public.graph_graphsnapshot ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_graphsnapshot_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_graphstate (
    id smallint NOT NULL,
    derived_from character varying(64) NOT NULL,
    derived_at timestamp with time zone,
    computed_from character varying(64) NOT NULL,
    computed_at timestamp with time zone,
    statistics jsonb NOT NULL,
    CONSTRAINT graph_graphstate_id_check CHECK ((id >= 0)),
    CONSTRAINT graph_state_once CHECK ((id = 1))
);
CREATE TABLE public.graph_learnedbinding (
    id bigint NOT NULL,
    parameter character varying(200) NOT NULL,
    kind character varying(20) NOT NULL,
    key character varying(64) NOT NULL,
    pointer text NOT NULL,
    nth smallint NOT NULL,
    value jsonb,
    sealed text NOT NULL,
    uses integer NOT NULL,
    runs integer NOT NULL,
    stated integer NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    giver_id bigint,
    team_id bigint,
    tool_id bigint NOT NULL,
    days date[] NOT NULL,
    people bigint[] NOT NULL,
    CONSTRAINT binding_kind_known CHECK (((kind)::text = ANY ((ARRAY['boolean'::character varying, 'call'::character varying, 'default'::character varying, 'enumeration'::character varying, 'literal'::character varying, 'other'::character varying, 'reference'::character varying])::text[]))),
    CONSTRAINT binding_literal_not_in_clear CHECK (((NOT ((kind)::text = 'literal'::text)) OR (value IS NULL))),
    CONSTRAINT binding_sealed_from_three_runs CHECK (((sealed = ''::text) OR (((kind)::text = 'literal'::text) AND (runs >= 3)))),
    CONSTRAINT graph_learnedbinding_runs_check CHECK ((runs >= 0)),
    CONSTRAINT graph_learnedbinding_stated_check CHECK ((stated >= 0)),
    CONSTRAINT graph_learnedbinding_uses_check CHECK ((uses >= 0))
);
ALTER TABLE public.graph_learnedbinding ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_learnedbinding_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_outputshape (
    id bigint NOT NULL,
    definition_hash character varying(64) NOT NULL,
    schema jsonb NOT NULL,
    samples integer NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT graph_outputshape_samples_check CHECK ((samples >= 0))
);
ALTER TABLE public.graph_outputshape ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_outputshape_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_patternembedding (
    id bigint NOT NULL,
    model character varying(200) NOT NULL,
    vector public.vector,
    encoded bytea NOT NULL,
    pattern_id bigint NOT NULL
);
ALTER TABLE public.graph_patternembedding ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_patternembedding_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_patternrun (
    id bigint NOT NULL,
    key character varying(200) NOT NULL,
    succeeded boolean NOT NULL,
    at timestamp with time zone NOT NULL,
    samples bytea NOT NULL,
    team_id bigint,
    pattern_id bigint NOT NULL
);
ALTER TABLE public.graph_patternrun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_patternrun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_relationevidence (
    id bigint NOT NULL,
    source character varying(10) NOT NULL,
    origin character varying(200) NOT NULL,
    confidence double precision,
    successes double precision NOT NULL,
    failures double precision NOT NULL,
    seconds double precision,
    fields jsonb NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    team_id bigint,
    relation_id bigint NOT NULL,
    CONSTRAINT evidence_confidence_in_range CHECK (((confidence IS NULL) OR ((confidence >= (0.0)::double precision) AND (confidence <= (1.0)::double precision)))),
    CONSTRAINT evidence_counts CHECK (((failures >= (0.0)::double precision) AND (successes >= (0.0)::double precision))),
    CONSTRAINT evidence_of_a_team CHECK ((((source)::text = ANY ((ARRAY['observed'::character varying, 'schema'::character varying])::text[])) OR (team_id IS NULL))),
    CONSTRAINT evidence_source_known CHECK (((source)::text = ANY ((ARRAY['curated'::character varying, 'schema'::character varying, 'observed'::character varying, 'imported'::character varying])::text[])))
);
ALTER TABLE public.graph_relationevidence ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_relationevidence_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_tooldependency (
    id bigint NOT NULL,
    kind character varying(20) NOT NULL,
    required boolean NOT NULL,
    rejected boolean NOT NULL,
    reason text NOT NULL,
    version character varying(100) NOT NULL,
    deprecated_at date,
    created_at timestamp with time zone NOT NULL,
    source_id bigint NOT NULL,
    target_id bigint NOT NULL,
    CONSTRAINT relation_both_ways_stored_once CHECK (((NOT ((kind)::text = ANY ((ARRAY['alternative_to'::character varying, 'mutually_exclusive'::character varying, 'often_used_with'::character varying])::text[]))) OR (source_id < target_id))),
    CONSTRAINT relation_kind_known CHECK (((kind)::text = ANY ((ARRAY['depends_on'::character varying, 'precedes'::character varying, 'provides'::character varying, 'often_used_with'::character varying, 'alternative_to'::character varying, 'replaces'::character varying, 'mutually_exclusive'::character varying, 'validates'::character varying, 'optimizes'::character varying])::text[]))),
    CONSTRAINT relation_of_two_tools CHECK ((NOT (source_id = target_id)))
);
ALTER TABLE public.graph_tooldependency ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_tooldependency_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_toolmetric (
    tool_id bigint NOT NULL,
    pagerank double precision NOT NULL,
    community integer NOT NULL,
    betweenness double precision NOT NULL,
    closeness double precision NOT NULL
);
CREATE TABLE public.graph_toolusage (
    id bigint NOT NULL,
    calls bigint NOT NULL,
    failures bigint NOT NULL,
    last_called_at timestamp with time zone NOT NULL,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT graph_toolusage_calls_check CHECK ((calls >= 0)),
    CONSTRAINT graph_toolusage_failures_check CHECK ((failures >= 0))
);
ALTER TABLE public.graph_toolusage ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_toolusage_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.graph_workflowpattern (
    id bigint NOT NULL,
    workflow_hash character varying(64) NOT NULL,
    intent_hash character varying(64) NOT NULL,
    tasks jsonb NOT NULL,
    tools bigint[] NOT NULL,
    intent text NOT NULL,
    successes integer NOT NULL,
    failures integer NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    team_id bigint,
    success_weight double precision NOT NULL,
    CONSTRAINT graph_workflowpattern_failures_check CHECK ((failures >= 0)),
    CONSTRAINT graph_workflowpattern_successes_check CHECK ((successes >= 0))
);
ALTER TABLE public.graph_workflowpattern ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.graph_workflowpattern_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_adaptivethreshold (
    id bigint NOT NULL,
    domain_hash bigint,
    context_hash bigint,
    policy character varying(20) NOT NULL,
    threshold double precision NOT NULL,
    override double precision,
    preset double precision,
    suspended boolean NOT NULL,
    level character varying(8) NOT NULL,
    sample_weight double precision NOT NULL,
    expected_success double precision,
    success_bound double precision,
    converged boolean NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    team_id bigint,
    context_sealed text NOT NULL,
    CONSTRAINT threshold_context_in_domain CHECK (((context_hash IS NULL) OR (domain_hash IS NOT NULL))),
    CONSTRAINT threshold_in_bounds CHECK (((threshold >= (0.7)::double precision) AND (threshold <= (0.95)::double precision))),
    CONSTRAINT threshold_override_in_bounds CHECK (((override IS NULL) OR ((override >= (0.7)::double precision) AND (override <= (0.95)::double precision)))),
    CONSTRAINT threshold_preset_in_bounds CHECK (((preset IS NULL) OR ((preset >= (0.7)::double precision) AND (preset <= (0.95)::double precision))))
);
ALTER TABLE public.learning_adaptivethreshold ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_adaptivethreshold_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_contribution (
    id bigint NOT NULL,
    person bigint NOT NULL,
    tools bigint[] NOT NULL,
    day date NOT NULL,
    today integer NOT NULL,
    since date NOT NULL,
    in_all integer NOT NULL,
    team_id bigint NOT NULL,
    CONSTRAINT learning_contribution_in_all_check CHECK ((in_all >= 0)),
    CONSTRAINT learning_contribution_today_check CHECK ((today >= 0))
);
ALTER TABLE public.learning_contribution ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_contribution_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_episodicevent (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    session bigint NOT NULL,
    tool bigint,
    arguments_hash bigint,
    context_hash bigint,
    context_check bigint,
    intent_hash bigint,
    prediction uuid,
    duration_ms double precision,
    weight double precision NOT NULL,
    kind smallint NOT NULL,
    outcome smallint,
    data jsonb,
    observation bytea,
    sealed bytea,
    team_id bigint
);
ALTER TABLE public.learning_episodicevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_episodicevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_eventspool (
    id uuid NOT NULL,
    "position" bigint NOT NULL,
    loaded_at timestamp with time zone NOT NULL
);
CREATE TABLE public.learning_intentvector (
    id bigint NOT NULL,
    intent_hash bigint NOT NULL,
    model character varying(200) NOT NULL,
    sealed bytea NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    team_id bigint
);
ALTER TABLE public.learning_intentvector ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_intentvector_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_predictiontotal (
    id bigint NOT NULL,
    form character varying(10) NOT NULL,
    shadow boolean NOT NULL,
    day date NOT NULL,
    decile smallint NOT NULL,
    predictions bigint NOT NULL,
    hits bigint NOT NULL,
    wasted bigint NOT NULL,
    chance double precision NOT NULL,
    saved_ms double precision NOT NULL,
    wasted_ms double precision NOT NULL,
    cost numeric(14,6) NOT NULL,
    unpriced bigint NOT NULL,
    team_id bigint,
    tool_id bigint,
    CONSTRAINT learning_predictiontotal_decile_check CHECK ((decile >= 0)),
    CONSTRAINT learning_predictiontotal_hits_check CHECK ((hits >= 0)),
    CONSTRAINT learning_predictiontotal_predictions_check CHECK ((predictions >= 0)),
    CONSTRAINT learning_predictiontotal_unpriced_check CHECK ((unpriced >= 0)),
    CONSTRAINT learning_predictiontotal_wasted_check CHECK ((wasted >= 0)),
    CONSTRAINT prediction_decile_known CHECK ((decile <= 9))
);
ALTER TABLE public.learning_predictiontotal ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_predictiontotal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_thresholdchange (
    id bigint NOT NULL,
    before double precision,
    after double precision NOT NULL,
    reason character varying(8) NOT NULL,
    evidence jsonb NOT NULL,
    "user" character varying(150) NOT NULL,
    at timestamp with time zone NOT NULL,
    threshold_id bigint NOT NULL,
    CONSTRAINT threshold_change_in_bounds CHECK (((after >= (0.7)::double precision) AND (after <= (0.95)::double precision)))
);
ALTER TABLE public.learning_thresholdchange ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_thresholdchange_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_toolexperience (
    id bigint NOT NULL,
    runs double precision NOT NULL,
    runs_at timestamp with time zone NOT NULL,
    calls bigint NOT NULL,
    total_ms double precision NOT NULL,
    latencies bigint[] NOT NULL,
    team_id bigint,
    tool_id bigint NOT NULL,
    CONSTRAINT learning_toolexperience_calls_check CHECK ((calls >= 0))
);
ALTER TABLE public.learning_toolexperience ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.learning_toolexperience_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.learning_unlearnedepisode (
    id uuid NOT NULL,
    content bytea NOT NULL,
    stored_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    team_id bigint,
    weight double precision DEFAULT 1.0,
    person bigint
);
CREATE TABLE public.mfa_authenticator (
    id bigint NOT NULL,
    type character varying(20) NOT NULL,
    data jsonb NOT NULL,
    user_id integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone
);
ALTER TABLE public.mfa_authenticator ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.mfa_authenticator_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_accesstoken (
    id bigint NOT NULL,
    token text NOT NULL,
    expires timestamp with time zone NOT NULL,
    scope text NOT NULL,
    application_id bigint,
    user_id integer,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    source_refresh_token_id bigint,
    id_token_id bigint,
    token_checksum character varying(64) NOT NULL,
    resource jsonb NOT NULL
);
ALTER TABLE public.oauth2_provider_accesstoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_accesstoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_devicegrant (
    id bigint NOT NULL,
    device_code character varying(100) NOT NULL,
    user_code character varying(100) NOT NULL,
    scope text NOT NULL,
    "interval" integer NOT NULL,
    expires timestamp with time zone NOT NULL,
    status character varying(64) NOT NULL,
    client_id character varying(100) NOT NULL,
    last_checked timestamp with time zone NOT NULL,
    user_id integer
);
ALTER TABLE public.oauth2_provider_devicegrant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_devicegrant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_grant (
    id bigint NOT NULL,
    code character varying(255) NOT NULL,
    expires timestamp with time zone NOT NULL,
    redirect_uri text NOT NULL,
    scope text NOT NULL,
    application_id bigint NOT NULL,
    user_id integer NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    code_challenge character varying(128) NOT NULL,
    code_challenge_method character varying(10) NOT NULL,
    nonce character varying(255) NOT NULL,
    claims text NOT NULL,
    resource jsonb NOT NULL
);
ALTER TABLE public.oauth2_provider_grant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_grant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_idtoken (
    id bigint NOT NULL,
    jti uuid NOT NULL,
    expires timestamp with time zone NOT NULL,
    scope text NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    application_id bigint,
    user_id integer
);
ALTER TABLE public.oauth2_provider_idtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_idtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_refreshtoken (
    id bigint NOT NULL,
    token text NOT NULL,
    access_token_id bigint,
    application_id bigint NOT NULL,
    user_id integer NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    revoked timestamp with time zone,
    token_family uuid,
    token_checksum character varying(64) NOT NULL,
    resource jsonb NOT NULL
);
ALTER TABLE public.oauth2_provider_refreshtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_refreshtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.socialaccount_socialaccount (
    id integer NOT NULL,
    provider character varying(200) NOT NULL,
    uid character varying(191) NOT NULL,
    last_login timestamp with time zone NOT NULL,
    date_joined timestamp with time zone NOT NULL,
    extra_data jsonb NOT NULL,
    user_id integer NOT NULL
);
ALTER TABLE public.socialaccount_socialaccount ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.socialaccount_socialaccount_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.socialaccount_socialapp (
    id integer NOT NULL,
    provider character varying(30) NOT NULL,
    name character varying(40) NOT NULL,
    client_id character varying(191) NOT NULL,
    secret character varying(191) NOT NULL,
    key character varying(191) NOT NULL,
    provider_id character varying(200) NOT NULL,
    settings jsonb NOT NULL
);
ALTER TABLE public.socialaccount_socialapp ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.socialaccount_socialapp_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.socialaccount_socialtoken (
    id integer NOT NULL,
    token text NOT NULL,
    token_secret text NOT NULL,
    expires_at timestamp with time zone,
    account_id integer NOT NULL,
    app_id integer
);
ALTER TABLE public.socialaccount_socialtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.socialaccount_socialtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_category (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    description text NOT NULL
);
ALTER TABLE public.tools_category ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_category_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_dangerousoperation (
    id bigint NOT NULL,
    pattern character varying(100) NOT NULL,
    danger character varying(12) NOT NULL,
    reason text NOT NULL,
    source character varying(10) NOT NULL,
    enabled boolean NOT NULL,
    CONSTRAINT dangerous_class_known CHECK (((danger)::text = ANY ((ARRAY['write'::character varying, 'destructive'::character varying, 'dangerous'::character varying])::text[]))),
    CONSTRAINT dangerous_pattern_not_blank CHECK ((NOT ((pattern)::text ~ '^\s*$'::text)))
);
ALTER TABLE public.tools_dangerousoperation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_dangerousoperation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_membership (
    id bigint NOT NULL,
    role character varying(10) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    user_id integer NOT NULL,
    team_id bigint NOT NULL,
    CONSTRAINT membership_role_known CHECK (((role)::text = ANY ((ARRAY['member'::character varying, 'admin'::character varying])::text[])))
);
ALTER TABLE public.tools_membership ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_membership_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_server (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    transport character varying(10) NOT NULL,
    command text NOT NULL,
    args jsonb NOT NULL,
    env_sealed text NOT NULL,
    cwd text NOT NULL,
    extra jsonb NOT NULL,
    source text NOT NULL,
    description text NOT NULL,
    instructions text NOT NULL,
    enabled boolean NOT NULL,
    trusted boolean NOT NULL,
    price_per_call numeric(12,6),
    connect_timeout_s double precision,
    call_timeout_s double precision,
    protocol_version character varying(20) NOT NULL,
    discovered_at timestamp with time zone,
    last_connected_at timestamp with time zone,
    last_error text NOT NULL,
    last_error_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    team_id bigint,
    unprefixed boolean NOT NULL,
    "authorization" character varying(15) NOT NULL,
    headers_sealed text NOT NULL,
    idle_stop_s double precision,
    oauth_client_id text NOT NULL,
    oauth_client_secret_sealed text NOT NULL,
    oauth_scopes text NOT NULL,
    private_network boolean NOT NULL,
    session character varying(10) NOT NULL,
    url text NOT NULL,
    capabilities jsonb,
    url_sealed text NOT NULL,
    last_output jsonb NOT NULL,
    CONSTRAINT server_choices_known CHECK ((((session)::text = ANY ((ARRAY['shared'::character varying, 'per_caller'::character varying])::text[])) AND (("authorization")::text = ANY ((ARRAY['none'::character varying, 'oauth'::character varying, 'oauth_per_user'::character varying])::text[])))),
    CONSTRAINT server_name_usable CHECK ((((name)::text ~ '^[^:\x01-\x1f\x7f]+$'::text) AND (NOT ((name)::text ~ '^\s|\s$'::text)))),
    CONSTRAINT server_price_not_negative CHECK (((price_per_call IS NULL) OR (price_per_call >= (0)::numeric))),
    CONSTRAINT server_reachable CHECK (((((transport)::text = 'stdio'::text) AND (url = ''::text) AND (NOT (command = ''::text))) OR ((command = ''::text) AND ((transport)::text = ANY ((ARRAY['http'::character varying, 'sse'::character varying])::text[])) AND (NOT (url = ''::text))))),
    CONSTRAINT server_timeouts_positive CHECK ((((connect_timeout_s IS NULL) OR (connect_timeout_s > (0.0)::double precision)) AND ((call_timeout_s IS NULL) OR (call_timeout_s > (0.0)::double precision)) AND ((idle_stop_s IS NULL) OR (idle_stop_s >= (0.0)::double precision))))
);
ALTER TABLE public.tools_server ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_server_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_serverdiscovery (
    id bigint NOT NULL,
    server_updated_at timestamp with time zone,
    requested_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    failures integer NOT NULL,
    failing_since timestamp with time zone,
    retry_at timestamp with time zone,
    error_code character varying(50) NOT NULL,
    server_id bigint NOT NULL,
    CONSTRAINT tools_serverdiscovery_failures_check CHECK ((failures >= 0))
);
ALTER TABLE public.tools_serverdiscovery ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_serverdiscovery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_serveritems (
    id bigint NOT NULL,
    kind character varying(10) NOT NULL,
    items jsonb NOT NULL,
    launch_hash character varying(64) NOT NULL,
    listed_at timestamp with time zone NOT NULL,
    server_id bigint NOT NULL,
    CONSTRAINT server_items_kind_known CHECK (((kind)::text = ANY ((ARRAY['resources'::character varying, 'templates'::character varying, 'prompts'::character varying])::text[])))
);
ALTER TABLE public.tools_serveritems ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_serveritems_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_serversignin (
    id bigint NOT NULL,
    issuer text NOT NULL,
    resource text NOT NULL,
    sealed text NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    server_id bigint NOT NULL,
    user_id integer
);
ALTER TABLE public.tools_serversignin ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_serversignin_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_signinattempt (
    id bigint NOT NULL,
    state_digest character varying(64) NOT NULL,
    sealed text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    server_id bigint NOT NULL,
    user_id integer
);
ALTER TABLE public.tools_signinattempt ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_signinattempt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_team (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    approve_from character varying(12) NOT NULL,
    requires_second_person boolean NOT NULL,
    person_id integer,
    CONSTRAINT team_approval_known CHECK (((approve_from)::text = ANY ((ARRAY['dangerous'::character varying, 'destructive'::character varying, 'write'::character varying, 'read'::character varying])::text[])))
);
ALTER TABLE public.tools_team ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_team_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_tool (
    id bigint NOT NULL,
    name text NOT NULL,
    state character varying(12) NOT NULL,
    enabled boolean NOT NULL,
    danger_override character varying(12) NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    category_id bigint,
    server_id bigint NOT NULL,
    definition_id bigint,
    listed_id bigint,
    pinned boolean NOT NULL,
    approval character varying(6) NOT NULL,
    repeatable_override boolean,
    ignored_places jsonb NOT NULL,
    CONSTRAINT tool_active_is_defined CHECK (((NOT ((state)::text = 'active'::text)) OR (definition_id IS NOT NULL))),
    CONSTRAINT tool_approval_known CHECK (((approval)::text = ANY ((ARRAY[''::character varying, 'always'::character varying, 'never'::character varying])::text[]))),
    CONSTRAINT tool_danger_known CHECK (((danger_override)::text = ANY ((ARRAY[''::character varying, 'read'::character varying, 'write'::character varying, 'destructive'::character varying, 'dangerous'::character varying])::text[]))),
    CONSTRAINT tool_named CHECK ((NOT (name = ''::text))),
    CONSTRAINT tool_state_known CHECK (((state)::text = ANY ((ARRAY['active'::character varying, 'pending'::character varying, 'quarantined'::character varying, 'removed'::character varying])::text[])))
);
ALTER TABLE public.tools_tool ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_tool_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_tooldefinition (
    id bigint NOT NULL,
    hash character varying(64) NOT NULL,
    launch_hash character varying(64) NOT NULL,
    text_hash character varying(64) NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    input_schema jsonb NOT NULL,
    output_schema jsonb,
    annotations jsonb NOT NULL,
    token_count integer NOT NULL,
    listed_at timestamp with time zone NOT NULL,
    approved_at timestamp with time zone,
    approved_by_id integer,
    tool_id bigint NOT NULL,
    findings jsonb NOT NULL,
    CONSTRAINT tools_tooldefinition_token_count_check CHECK ((token_count >= 0))
);
ALTER TABLE public.tools_tooldefinition ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_tooldefinition_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_toolembedding (
    id bigint NOT NULL,
    model character varying(200) NOT NULL,
    content_hash character varying(64) NOT NULL,
    dimensions smallint NOT NULL,
    vector public.vector NOT NULL,
    created_at timestamp with time zone NOT NULL,
    tool_id bigint NOT NULL,
    CONSTRAINT tools_toolembedding_dimensions_check CHECK ((dimensions >= 0))
);
ALTER TABLE public.tools_toolembedding ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_toolembedding_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_toolgroup (
    id bigint NOT NULL,
    name character varying(64) NOT NULL,
    description character varying(500) NOT NULL,
    servers text[] NOT NULL,
    categories text[] NOT NULL,
    tools text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    team_id bigint,
    CONSTRAINT tool_group_name_fits_address CHECK (((name)::text ~ '^[a-z0-9][a-z0-9_-]{0,63}$'::text))
);
ALTER TABLE public.tools_toolgroup ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_toolgroup_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_toolposting (
    id bigint NOT NULL,
    lexeme text NOT NULL,
    frequency double precision NOT NULL,
    in_name boolean NOT NULL,
    tool_id bigint NOT NULL
);
ALTER TABLE public.tools_toolposting ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tools_toolposting_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tools_tooltext (
    tool_id bigint NOT NULL,
    content_hash character varying(32) NOT NULL,
    length double precision NOT NULL
);
INSERT INTO public.auth_group VALUES
	(1, 'viewer'),
	(2, 'operator'),
	(3, 'curator'),
	(4, 'admin');
INSERT INTO public.auth_group_permissions VALUES
	(1, 1, 4),
	(2, 1, 132),
	(3, 1, 136),
	(4, 1, 12),
	(5, 1, 76),
	(6, 1, 16),
	(7, 1, 112),
	(8, 1, 20),
	(9, 1, 92),
	(10, 2, 4),
	(11, 2, 132),
	(12, 2, 136),
	(13, 2, 12),
	(14, 2, 76),
	(15, 2, 16),
	(16, 2, 112),
	(17, 2, 20),
	(18, 2, 92),
	(19, 3, 4),
	(20, 3, 132),
	(21, 3, 136),
	(22, 3, 73),
	(23, 3, 10),
	(24, 3, 74),
	(25, 3, 12),
	(26, 3, 76),
	(27, 3, 13),
	(28, 3, 14),
	(29, 3, 16),
	(30, 3, 112),
	(31, 3, 15),
	(32, 3, 20),
	(33, 3, 91),
	(34, 3, 92),
	(35, 4, 4),
	(36, 4, 132),
	(37, 4, 136),
	(38, 4, 10),
	(39, 4, 138),
	(40, 4, 12),
	(41, 4, 13),
	(42, 4, 14),
	(43, 4, 15),
	(44, 4, 16),
	(45, 4, 144),
	(46, 4, 141),
	(47, 4, 142),
	(48, 4, 20),
	(49, 4, 143),
	(50, 4, 150),
	(51, 4, 152),
	(52, 4, 140),
	(53, 4, 73),
	(54, 4, 74),
	(55, 4, 76),
	(56, 4, 91),
	(57, 4, 92),
	(58, 4, 112);
INSERT INTO public.auth_permission VALUES
	(1, 'Can add category', 1, 'add_category'),
	(2, 'Can change category', 1, 'change_category'),
	(3, 'Can delete category', 1, 'delete_category'),
	(4, 'Can view category', 1, 'view_category'),
	(5, 'Can add team', 2, 'add_team'),
	(6, 'Can change team', 2, 'change_team'),
	(7, 'Can delete team', 2, 'delete_team'),
	(8, 'Can view team', 2, 'view_team'),
	(9, 'Can add tool', 3, 'add_tool'),
	(10, 'Can change tool', 3, 'change_tool'),
	(11, 'Can delete tool', 3, 'delete_tool'),
	(12, 'Can view tool', 3, 'view_tool'),
	(13, 'Can add dangerous operation', 4, 'add_dangerousoperation'),
	(14, 'Can change dangerous operation', 4, 'change_dangerousoperation'),
	(15, 'Can delete dangerous operation', 4, 'delete_dangerousoperation'),
	(16, 'Can view dangerous operation', 4, 'view_dangerousoperation'),
	(17, 'Can add server', 5, 'add_server'),
	(18, 'Can change server', 5, 'change_server'),
	(19, 'Can delete server', 5, 'delete_server'),
	(20, 'Can view server', 5, 'view_server'),
	(21, 'Can add membership', 6, 'add_membership'),
	(22, 'Can change membership', 6, 'change_membership'),
	(23, 'Can delete membership', 6, 'delete_membership'),
	(24, 'Can view membership', 6, 'view_membership'),
	(25, 'Can add tool text', 7, 'add_tooltext'),
	(26, 'Can change tool text', 7, 'change_tooltext'),
	(27, 'Can delete tool text', 7, 'delete_tooltext'),
	(28, 'Can view tool text', 7, 'view_tooltext'),
	(29, 'Can add tool definition', 8, 'add_tooldefinition'),
	(30, 'Can change tool definition', 8, 'change_tooldefinition'),
	(31, 'Can delete tool definition', 8, 'delete_tooldefinition'),
	(32, 'Can view tool definition', 8, 'view_tooldefinition'),
	(33, 'Can add tool embedding', 9, 'add_toolembedding'),
	(34, 'Can change tool embedding', 9, 'change_toolembedding'),
	(35, 'Can delete tool embedding', 9, 'delete_toolembedding'),
	(36, 'Can view tool embedding', 9, 'view_toolembedding'),
	(37, 'Can add tool posting', 10, 'add_toolposting'),
	(38, 'Can change tool posting', 10, 'change_toolposting'),
	(39, 'Can delete tool posting', 10, 'delete_toolposting'),
	(40, 'Can view tool posting', 10, 'view_toolposting'),
	(41, 'Can add server sign in', 11, 'add_serversignin'),
	(42, 'Can change server sign in', 11, 'change_serversignin'),
	(43, 'Can delete server sign in', 11, 'delete_serversignin'),
	(44, 'Can view server sign in', 11, 'view_serversignin'),
	(45, 'Can add sign in attempt', 12, 'add_signinattempt'),
	(46, 'Can change sign in attempt', 12, 'change_signinattempt'),
	(47, 'Can delete sign in attempt', 12, 'delete_signinattempt'),
	(48, 'Can view sign in attempt', 12, 'view_signinattempt'),
	(49, 'Can add server items', 13, 'add_serveritems'),
	(50, 'Can change server items', 13, 'change_serveritems'),
	(51, 'Can delete server items', 13, 'delete_serveritems'),
	(52, 'Can view server items', 13, 'view_serveritems'),
	(53, 'Can add server discovery', 14, 'add_serverdiscovery'),
	(54, 'Can change server discovery', 14, 'change_serverdiscovery'),
	(55, 'Can delete server discovery', 14, 'delete_serverdiscovery'),
	(56, 'Can view server discovery', 14, 'view_serverdiscovery'),
	(57, 'Can add tool group', 15, 'add_toolgroup'),
	(58, 'Can change tool group', 15, 'change_toolgroup'),
	(59, 'Can delete tool group', 15, 'delete_toolgroup'),
	(60, 'Can view tool group', 15, 'view_toolgroup'),
	(61, 'Can add graph snapshot', 16, 'add_graphsnapshot'),
	(62, 'Can change graph snapshot', 16, 'change_graphsnapshot'),
	(63, 'Can delete graph snapshot', 16, 'delete_graphsnapshot'),
	(64, 'Can view graph snapshot', 16, 'view_graphsnapshot'),
	(65, 'Can add tool metric', 17, 'add_toolmetric'),
	(66, 'Can change tool metric', 17, 'change_toolmetric'),
	(67, 'Can delete tool metric', 17, 'delete_toolmetric'),
	(68, 'Can view tool metric', 17, 'view_toolmetric'),
	(69, 'Can add graph state', 18, 'add_graphstate'),
	(70, 'Can change graph state', 18, 'change_graphstate'),
	(71, 'Can delete graph state', 18, 'delete_graphstate'),
	(72, 'Can view graph state', 18, 'view_graphstate'),
	(73, 'Can add relation', 19, 'add_tooldependency'),
	(74, 'Can change relation', 19, 'change_tooldependency'),
	(75, 'Can delete relation', 19, 'delete_tooldependency'),
	(76, 'Can view relation', 19, 'view_tooldependency'),
	(77, 'Can add relation evidence', 20, 'add_relationevidence'),
	(78, 'Can change relation evidence', 20, 'change_relationevidence'),
	(79, 'Can delete relation evidence', 20, 'delete_relationevidence'),
	(80, 'Can view relation evidence', 20, 'view_relationevidence'),
	(81, 'Can add tool usage', 21, 'add_toolusage'),
	(82, 'Can change tool usage', 21, 'change_toolusage'),
	(83, 'Can delete tool usage', 21, 'delete_toolusage'),
	(84, 'Can view tool usage', 21, 'view_toolusage'),
	(85, 'Can add output shape', 22, 'add_outputshape'),
	(86, 'Can change output shape', 22, 'change_outputshape'),
	(87, 'Can delete output shape', 22, 'delete_outputshape'),
	(88, 'Can view output shape', 22, 'view_outputshape'),
	(89, 'Can add workflow pattern', 23, 'add_workflowpattern'),
	(90, 'Can change workflow pattern', 23, 'change_workflowpattern'),
	(91, 'Can delete workflow pattern', 23, 'delete_workflowpattern'),
	(92, 'Can view workflow pattern', 23, 'view_workflowpattern'),
	(93, 'Can add recorded run', 24, 'add_patternrun'),
	(94, 'Can change recorded run', 24, 'change_patternrun'),
	(95, 'Can delete recorded run', 24, 'delete_patternrun'),
	(96, 'Can view recorded run', 24, 'view_patternrun'),
	(97, 'Can add pattern embedding', 25, 'add_patternembedding'),
	(98, 'Can change pattern embedding', 25, 'change_patternembedding'),
	(99, 'Can delete pattern embedding', 25, 'delete_patternembedding'),
	(100, 'Can view pattern embedding', 25, 'view_patternembedding');
INSERT INTO public.auth_permission VALUES
	(101, 'Can add fitted model', 26, 'add_fittedmodel'),
	(102, 'Can change fitted model', 26, 'change_fittedmodel'),
	(103, 'Can delete fitted model', 26, 'delete_fittedmodel'),
	(104, 'Can view fitted model', 26, 'view_fittedmodel'),
	(105, 'Can add learned binding', 27, 'add_learnedbinding'),
	(106, 'Can change learned binding', 27, 'change_learnedbinding'),
	(107, 'Can delete learned binding', 27, 'delete_learnedbinding'),
	(108, 'Can view learned binding', 27, 'view_learnedbinding'),
	(109, 'Can add run', 28, 'add_workflowexecution'),
	(110, 'Can change run', 28, 'change_workflowexecution'),
	(111, 'Can delete run', 28, 'delete_workflowexecution'),
	(112, 'Can view run', 28, 'view_workflowexecution'),
	(113, 'Can add run task', 29, 'add_taskrun'),
	(114, 'Can change run task', 29, 'change_taskrun'),
	(115, 'Can delete run task', 29, 'delete_taskrun'),
	(116, 'Can view run task', 29, 'view_taskrun'),
	(117, 'Can add run command', 30, 'add_runcommand'),
	(118, 'Can change run command', 30, 'change_runcommand'),
	(119, 'Can delete run command', 30, 'delete_runcommand'),
	(120, 'Can view run command', 30, 'view_runcommand'),
	(121, 'Can add payload', 31, 'add_payload'),
	(122, 'Can change payload', 31, 'change_payload'),
	(123, 'Can delete payload', 31, 'delete_payload'),
	(124, 'Can view payload', 31, 'view_payload'),
	(125, 'Can add run event', 32, 'add_executionevent'),
	(126, 'Can change run event', 32, 'change_executionevent'),
	(127, 'Can delete run event', 32, 'delete_executionevent'),
	(128, 'Can view run event', 32, 'view_executionevent'),
	(129, 'Can add approval', 33, 'add_approval'),
	(130, 'Can change approval', 33, 'change_approval'),
	(131, 'Can delete approval', 33, 'delete_approval'),
	(132, 'Can view approval', 33, 'view_approval'),
	(133, 'Can add speculation', 34, 'add_speculation'),
	(134, 'Can change speculation', 34, 'change_speculation'),
	(135, 'Can delete speculation', 34, 'delete_speculation'),
	(136, 'Can view speculation', 34, 'view_speculation'),
	(137, 'Can add speculation switch', 35, 'add_speculationcontrol'),
	(138, 'Can change speculation switch', 35, 'change_speculationcontrol'),
	(139, 'Can delete speculation switch', 35, 'delete_speculationcontrol'),
	(140, 'Can view speculation switch', 35, 'view_speculationcontrol'),
	(141, 'Can add speculation grant', 36, 'add_speculationgrant'),
	(142, 'Can change speculation grant', 36, 'change_speculationgrant'),
	(143, 'Can delete speculation grant', 36, 'delete_speculationgrant'),
	(144, 'Can view speculation grant', 36, 'view_speculationgrant'),
	(145, 'Can add reserved money', 37, 'add_budgetreservation'),
	(146, 'Can change reserved money', 37, 'change_budgetreservation'),
	(147, 'Can delete reserved money', 37, 'delete_budgetreservation'),
	(148, 'Can view reserved money', 37, 'view_budgetreservation'),
	(149, 'Can add comparison of results', 38, 'add_speculationagreement'),
	(150, 'Can change comparison of results', 38, 'change_speculationagreement'),
	(151, 'Can delete comparison of results', 38, 'delete_speculationagreement'),
	(152, 'Can view comparison of results', 38, 'view_speculationagreement'),
	(153, 'Can add speculation budget', 39, 'add_speculationbudget'),
	(154, 'Can change speculation budget', 39, 'change_speculationbudget'),
	(155, 'Can delete speculation budget', 39, 'delete_speculationbudget'),
	(156, 'Can view speculation budget', 39, 'view_speculationbudget'),
	(157, 'Can add tool experience', 40, 'add_toolexperience'),
	(158, 'Can change tool experience', 40, 'change_toolexperience'),
	(159, 'Can delete tool experience', 40, 'delete_toolexperience'),
	(160, 'Can view tool experience', 40, 'view_toolexperience'),
	(161, 'Can add spool file', 41, 'add_eventspool'),
	(162, 'Can change spool file', 41, 'change_eventspool'),
	(163, 'Can delete spool file', 41, 'delete_eventspool'),
	(164, 'Can view spool file', 41, 'view_eventspool'),
	(165, 'Can add event', 42, 'add_episodicevent'),
	(166, 'Can change event', 42, 'change_episodicevent'),
	(167, 'Can delete event', 42, 'delete_episodicevent'),
	(168, 'Can view event', 42, 'view_episodicevent'),
	(169, 'Can add vector of an intent', 43, 'add_intentvector'),
	(170, 'Can change vector of an intent', 43, 'change_intentvector'),
	(171, 'Can delete vector of an intent', 43, 'delete_intentvector'),
	(172, 'Can view vector of an intent', 43, 'view_intentvector'),
	(173, 'Can add adaptive threshold', 44, 'add_adaptivethreshold'),
	(174, 'Can change adaptive threshold', 44, 'change_adaptivethreshold'),
	(175, 'Can delete adaptive threshold', 44, 'delete_adaptivethreshold'),
	(176, 'Can view adaptive threshold', 44, 'view_adaptivethreshold'),
	(177, 'Can add threshold change', 45, 'add_thresholdchange'),
	(178, 'Can change threshold change', 45, 'change_thresholdchange'),
	(179, 'Can delete threshold change', 45, 'delete_thresholdchange'),
	(180, 'Can view threshold change', 45, 'view_thresholdchange'),
	(181, 'Can add prediction total', 46, 'add_predictiontotal'),
	(182, 'Can change prediction total', 46, 'change_predictiontotal'),
	(183, 'Can delete prediction total', 46, 'delete_predictiontotal'),
	(184, 'Can view prediction total', 46, 'view_predictiontotal'),
	(185, 'Can add unlearned episode', 47, 'add_unlearnedepisode'),
	(186, 'Can change unlearned episode', 47, 'change_unlearnedepisode'),
	(187, 'Can delete unlearned episode', 47, 'delete_unlearnedepisode'),
	(188, 'Can view unlearned episode', 47, 'view_unlearnedepisode'),
	(189, 'Can add contribution', 48, 'add_contribution'),
	(190, 'Can change contribution', 48, 'change_contribution'),
	(191, 'Can delete contribution', 48, 'delete_contribution'),
	(192, 'Can view contribution', 48, 'view_contribution'),
	(193, 'Can add log entry', 49, 'add_logentry'),
	(194, 'Can change log entry', 49, 'change_logentry'),
	(195, 'Can delete log entry', 49, 'delete_logentry'),
	(196, 'Can view log entry', 49, 'view_logentry'),
	(197, 'Can add permission', 50, 'add_permission'),
	(198, 'Can change permission', 50, 'change_permission'),
	(199, 'Can delete permission', 50, 'delete_permission'),
	(200, 'Can view permission', 50, 'view_permission');
INSERT INTO public.auth_permission VALUES
	(201, 'Can add group', 51, 'add_group'),
	(202, 'Can change group', 51, 'change_group'),
	(203, 'Can delete group', 51, 'delete_group'),
	(204, 'Can view group', 51, 'view_group'),
	(205, 'Can add user', 52, 'add_user'),
	(206, 'Can change user', 52, 'change_user'),
	(207, 'Can delete user', 52, 'delete_user'),
	(208, 'Can view user', 52, 'view_user'),
	(209, 'Can add content type', 53, 'add_contenttype'),
	(210, 'Can change content type', 53, 'change_contenttype'),
	(211, 'Can delete content type', 53, 'delete_contenttype'),
	(212, 'Can view content type', 53, 'view_contenttype'),
	(213, 'Can add session', 54, 'add_session'),
	(214, 'Can change session', 54, 'change_session'),
	(215, 'Can delete session', 54, 'delete_session'),
	(216, 'Can view session', 54, 'view_session'),
	(217, 'Can add email address', 55, 'add_emailaddress'),
	(218, 'Can change email address', 55, 'change_emailaddress'),
	(219, 'Can delete email address', 55, 'delete_emailaddress'),
	(220, 'Can view email address', 55, 'view_emailaddress'),
	(221, 'Can add email confirmation', 56, 'add_emailconfirmation'),
	(222, 'Can change email confirmation', 56, 'change_emailconfirmation'),
	(223, 'Can delete email confirmation', 56, 'delete_emailconfirmation'),
	(224, 'Can view email confirmation', 56, 'view_emailconfirmation'),
	(225, 'Can add authenticator', 57, 'add_authenticator'),
	(226, 'Can change authenticator', 57, 'change_authenticator'),
	(227, 'Can delete authenticator', 57, 'delete_authenticator'),
	(228, 'Can view authenticator', 57, 'view_authenticator'),
	(229, 'Can add social account', 58, 'add_socialaccount'),
	(230, 'Can change social account', 58, 'change_socialaccount'),
	(231, 'Can delete social account', 58, 'delete_socialaccount'),
	(232, 'Can view social account', 58, 'view_socialaccount'),
	(233, 'Can add social application', 59, 'add_socialapp'),
	(234, 'Can change social application', 59, 'change_socialapp'),
	(235, 'Can delete social application', 59, 'delete_socialapp'),
	(236, 'Can view social application', 59, 'view_socialapp'),
	(237, 'Can add social application token', 60, 'add_socialtoken'),
	(238, 'Can change social application token', 60, 'change_socialtoken'),
	(239, 'Can delete social application token', 60, 'delete_socialtoken'),
	(240, 'Can view social application token', 60, 'view_socialtoken'),
	(241, 'Can add access attempt', 61, 'add_accessattempt'),
	(242, 'Can change access attempt', 61, 'change_accessattempt'),
	(243, 'Can delete access attempt', 61, 'delete_accessattempt'),
	(244, 'Can view access attempt', 61, 'view_accessattempt'),
	(245, 'Can add access log', 62, 'add_accesslog'),
	(246, 'Can change access log', 62, 'change_accesslog'),
	(247, 'Can delete access log', 62, 'delete_accesslog'),
	(248, 'Can view access log', 62, 'view_accesslog'),
	(249, 'Can add access failure', 63, 'add_accessfailurelog'),
	(250, 'Can change access failure', 63, 'change_accessfailurelog'),
	(251, 'Can delete access failure', 63, 'delete_accessfailurelog'),
	(252, 'Can view access failure', 63, 'view_accessfailurelog'),
	(253, 'Can add access attempt expiration', 64, 'add_accessattemptexpiration'),
	(254, 'Can change access attempt expiration', 64, 'change_accessattemptexpiration'),
	(255, 'Can delete access attempt expiration', 64, 'delete_accessattemptexpiration'),
	(256, 'Can view access attempt expiration', 64, 'view_accessattemptexpiration'),
	(257, 'Can add access token', 65, 'add_accesstoken'),
	(258, 'Can change access token', 65, 'change_accesstoken'),
	(259, 'Can delete access token', 65, 'delete_accesstoken'),
	(260, 'Can view access token', 65, 'view_accesstoken'),
	(261, 'Can add grant', 66, 'add_grant'),
	(262, 'Can change grant', 66, 'change_grant'),
	(263, 'Can delete grant', 66, 'delete_grant'),
	(264, 'Can view grant', 66, 'view_grant'),
	(265, 'Can add refresh token', 67, 'add_refreshtoken'),
	(266, 'Can change refresh token', 67, 'change_refreshtoken'),
	(267, 'Can delete refresh token', 67, 'delete_refreshtoken'),
	(268, 'Can view refresh token', 67, 'view_refreshtoken'),
	(269, 'Can add id token', 68, 'add_idtoken'),
	(270, 'Can change id token', 68, 'change_idtoken'),
	(271, 'Can delete id token', 68, 'delete_idtoken'),
	(272, 'Can view id token', 68, 'view_idtoken'),
	(273, 'Can add device grant', 69, 'add_devicegrant'),
	(274, 'Can change device grant', 69, 'change_devicegrant'),
	(275, 'Can delete device grant', 69, 'delete_devicegrant'),
	(276, 'Can view device grant', 69, 'view_devicegrant'),
	(277, 'Can add metric total', 70, 'add_metrictotal'),
	(278, 'Can change metric total', 70, 'change_metrictotal'),
	(279, 'Can delete metric total', 70, 'delete_metrictotal'),
	(280, 'Can view metric total', 70, 'view_metrictotal'),
	(281, 'Can add one time password', 71, 'add_onetimepassword'),
	(282, 'Can change one time password', 71, 'change_onetimepassword'),
	(283, 'Can delete one time password', 71, 'delete_onetimepassword'),
	(284, 'Can view one time password', 71, 'view_onetimepassword'),
	(285, 'Can add api token', 72, 'add_apitoken'),
	(286, 'Can change api token', 72, 'change_apitoken'),
	(287, 'Can delete api token', 72, 'delete_apitoken'),
	(288, 'Can view api token', 72, 'view_apitoken'),
	(289, 'Can add audit entry', 73, 'add_auditentry'),
	(290, 'Can change audit entry', 73, 'change_auditentry'),
	(291, 'Can delete audit entry', 73, 'delete_auditentry'),
	(292, 'Can view audit entry', 73, 'view_auditentry'),
	(293, 'Can add idempotent request', 74, 'add_idempotentrequest'),
	(294, 'Can change idempotent request', 74, 'change_idempotentrequest'),
	(295, 'Can delete idempotent request', 74, 'delete_idempotentrequest'),
	(296, 'Can view idempotent request', 74, 'view_idempotentrequest'),
	(297, 'Can add OAuth client', 75, 'add_oauthclient'),
	(298, 'Can change OAuth client', 75, 'change_oauthclient'),
	(299, 'Can delete OAuth client', 75, 'delete_oauthclient'),
	(300, 'Can view OAuth client', 75, 'view_oauthclient');
INSERT INTO public.auth_permission VALUES
	(301, 'Can add webhook', 76, 'add_webhook'),
	(302, 'Can change webhook', 76, 'change_webhook'),
	(303, 'Can delete webhook', 76, 'delete_webhook'),
	(304, 'Can view webhook', 76, 'view_webhook'),
	(305, 'Can add webhook delivery', 77, 'add_webhookdelivery'),
	(306, 'Can change webhook delivery', 77, 'change_webhookdelivery'),
	(307, 'Can delete webhook delivery', 77, 'delete_webhookdelivery'),
	(308, 'Can view webhook delivery', 77, 'view_webhookdelivery'),
	(309, 'Can add retired user name', 78, 'add_retiredusername'),
	(310, 'Can change retired user name', 78, 'change_retiredusername'),
	(311, 'Can delete retired user name', 78, 'delete_retiredusername'),
	(312, 'Can view retired user name', 78, 'view_retiredusername');
INSERT INTO public.auth_user VALUES
	(1, '!nio2XXUzz8omL7jb1biotsb47nk5pBfiDaLWSBnv', NULL, true, 'admin', '', '', '', true, true, '2026-11-28 20:29:13.29847+00');
INSERT INTO public.django_content_type VALUES
	(1, 'tools', 'category'),
	(2, 'tools', 'team'),
	(3, 'tools', 'tool'),
	(4, 'tools', 'dangerousoperation'),
	(5, 'tools', 'server'),
	(6, 'tools', 'membership'),
	(7, 'tools', 'tooltext'),
	(8, 'tools', 'tooldefinition'),
	(9, 'tools', 'toolembedding'),
	(10, 'tools', 'toolposting'),
	(11, 'tools', 'serversignin'),
	(12, 'tools', 'signinattempt'),
	(13, 'tools', 'serveritems'),
	(14, 'tools', 'serverdiscovery'),
	(15, 'tools', 'toolgroup'),
	(16, 'graph', 'graphsnapshot'),
	(17, 'graph', 'toolmetric'),
	(18, 'graph', 'graphstate'),
	(19, 'graph', 'tooldependency'),
	(20, 'graph', 'relationevidence'),
	(21, 'graph', 'toolusage'),
	(22, 'graph', 'outputshape'),
	(23, 'graph', 'workflowpattern'),
	(24, 'graph', 'patternrun'),
	(25, 'graph', 'patternembedding'),
	(26, 'graph', 'fittedmodel'),
	(27, 'graph', 'learnedbinding'),
	(28, 'execution', 'workflowexecution'),
	(29, 'execution', 'taskrun'),
	(30, 'execution', 'runcommand'),
	(31, 'execution', 'payload'),
	(32, 'execution', 'executionevent'),
	(33, 'execution', 'approval'),
	(34, 'execution', 'speculation'),
	(35, 'execution', 'speculationcontrol'),
	(36, 'execution', 'speculationgrant'),
	(37, 'execution', 'budgetreservation'),
	(38, 'execution', 'speculationagreement'),
	(39, 'execution', 'speculationbudget'),
	(40, 'learning', 'toolexperience'),
	(41, 'learning', 'eventspool'),
	(42, 'learning', 'episodicevent'),
	(43, 'learning', 'intentvector'),
	(44, 'learning', 'adaptivethreshold'),
	(45, 'learning', 'thresholdchange'),
	(46, 'learning', 'predictiontotal'),
	(47, 'learning', 'unlearnedepisode'),
	(48, 'learning', 'contribution'),
	(49, 'admin', 'logentry'),
	(50, 'auth', 'permission'),
	(51, 'auth', 'group'),
	(52, 'auth', 'user'),
	(53, 'contenttypes', 'contenttype'),
	(54, 'sessions', 'session'),
	(55, 'account', 'emailaddress'),
	(56, 'account', 'emailconfirmation'),
	(57, 'mfa', 'authenticator'),
	(58, 'socialaccount', 'socialaccount'),
	(59, 'socialaccount', 'socialapp'),
	(60, 'socialaccount', 'socialtoken'),
	(61, 'axes', 'accessattempt'),
	(62, 'axes', 'accesslog'),
	(63, 'axes', 'accessfailurelog'),
	(64, 'axes', 'accessattemptexpiration'),
	(65, 'oauth2_provider', 'accesstoken'),
	(66, 'oauth2_provider', 'grant'),
	(67, 'oauth2_provider', 'refreshtoken'),
	(68, 'oauth2_provider', 'idtoken'),
	(69, 'oauth2_provider', 'devicegrant'),
	(70, 'gateway_project', 'metrictotal'),
	(71, 'gateway_project', 'onetimepassword'),
	(72, 'gateway_project', 'apitoken'),
	(73, 'gateway_project', 'auditentry'),
	(74, 'gateway_project', 'idempotentrequest'),
	(75, 'gateway_project', 'oauthclient'),
	(76, 'gateway_project', 'webhook'),
	(77, 'gateway_project', 'webhookdelivery'),
	(78, 'gateway_project', 'retiredusername');
INSERT INTO public.django_migrations VALUES
	(1, 'contenttypes', '0001_initial', '2026-11-28 20:27:51.107125+00'),
	(2, 'auth', '0001_initial', '2026-11-28 20:27:51.346233+00'),
	(3, 'account', '0001_initial', '2026-11-28 20:27:51.553959+00'),
	(4, 'account', '0002_email_max_length', '2026-11-28 20:27:51.670137+00'),
	(5, 'account', '0003_alter_emailaddress_create_unique_verified_email', '2026-11-28 20:27:51.6757+00'),
	(6, 'account', '0004_alter_emailaddress_drop_unique_email', '2026-11-28 20:27:51.727528+00'),
	(7, 'account', '0005_emailaddress_idx_upper_email', '2026-11-28 20:27:51.784165+00'),
	(8, 'account', '0006_emailaddress_lower', '2026-11-28 20:27:51.853211+00'),
	(9, 'account', '0007_emailaddress_idx_email', '2026-11-28 20:27:51.9567+00'),
	(10, 'account', '0008_emailaddress_unique_primary_email_fixup', '2026-11-28 20:27:52.036177+00'),
	(11, 'account', '0009_emailaddress_unique_primary_email', '2026-11-28 20:27:52.10069+00'),
	(12, 'admin', '0001_initial', '2026-11-28 20:27:52.286235+00'),
	(13, 'admin', '0002_logentry_remove_auto_add', '2026-11-28 20:27:52.34848+00'),
	(14, 'admin', '0003_logentry_add_action_flag_choices', '2026-11-28 20:27:52.385219+00'),
	(15, 'contenttypes', '0002_remove_content_type_name', '2026-11-28 20:27:52.434254+00'),
	(16, 'auth', '0002_alter_permission_name_max_length', '2026-11-28 20:27:52.461095+00'),
	(17, 'auth', '0003_alter_user_email_max_length', '2026-11-28 20:27:52.486747+00'),
	(18, 'auth', '0004_alter_user_username_opts', '2026-11-28 20:27:52.507192+00'),
	(19, 'auth', '0005_alter_user_last_login_null', '2026-11-28 20:27:52.531743+00'),
	(20, 'auth', '0006_require_contenttypes_0002', '2026-11-28 20:27:52.542346+00'),
	(21, 'auth', '0007_alter_validators_add_error_messages', '2026-11-28 20:27:52.585303+00'),
	(22, 'auth', '0008_alter_user_username_max_length', '2026-11-28 20:27:52.666505+00'),
	(23, 'auth', '0009_alter_user_last_name_max_length', '2026-11-28 20:27:52.713895+00'),
	(24, 'auth', '0010_alter_group_name_max_length', '2026-11-28 20:27:52.757104+00'),
	(25, 'auth', '0011_update_proxy_permissions', '2026-11-28 20:27:52.788872+00'),
	(26, 'auth', '0012_alter_user_first_name_max_length', '2026-11-28 20:27:52.819021+00'),
	(27, 'axes', '0001_initial', '2026-11-28 20:27:52.839678+00'),
	(28, 'axes', '0002_auto_20151217_2044', '2026-11-28 20:27:52.93097+00'),
	(29, 'axes', '0003_auto_20160322_0929', '2026-11-28 20:27:52.989744+00'),
	(30, 'axes', '0004_auto_20181024_1538', '2026-11-28 20:27:53.040276+00'),
	(31, 'axes', '0005_remove_accessattempt_trusted', '2026-11-28 20:27:53.058858+00'),
	(32, 'axes', '0006_remove_accesslog_trusted', '2026-11-28 20:27:53.09122+00'),
	(33, 'axes', '0007_alter_accessattempt_unique_together', '2026-11-28 20:27:53.159435+00'),
	(34, 'axes', '0008_accessfailurelog', '2026-11-28 20:27:53.207318+00'),
	(35, 'axes', '0009_add_session_hash', '2026-11-28 20:27:53.231672+00'),
	(36, 'axes', '0010_accessattemptexpiration', '2026-11-28 20:27:53.26202+00'),
	(37, 'tools', '0001_initial', '2026-11-28 20:27:54.596646+00'),
	(38, 'tools', '0002_notify_and_seed', '2026-11-28 20:27:54.73381+00'),
	(39, 'tools', '0003_remote_servers', '2026-11-28 20:27:56.344119+00'),
	(40, 'tools', '0004_notify_search', '2026-11-28 20:27:56.365928+00'),
	(41, 'tools', '0005_server_lists', '2026-11-28 20:27:56.586181+00'),
	(42, 'tools', '0006_plural_of_items', '2026-11-28 20:27:57.561204+00'),
	(43, 'tools', '0007_approval', '2026-11-28 20:27:57.877959+00'),
	(44, 'tools', '0008_early_triggers', '2026-11-28 20:27:57.891127+00'),
	(45, 'tools', '0009_sealed_addresses', '2026-11-28 20:27:58.152272+00'),
	(46, 'tools', '0010_server_discovery', '2026-11-28 20:27:58.294035+00'),
	(47, 'tools', '0011_seed_code_runners', '2026-11-28 20:27:58.439792+00'),
	(48, 'tools', '0012_ignored_places', '2026-11-28 20:27:58.537413+00'),
	(49, 'tools', '0013_plain_labels', '2026-11-28 20:27:58.563015+00'),
	(50, 'tools', '0014_seed_actions', '2026-11-28 20:27:58.821995+00'),
	(51, 'tools', '0015_tool_groups', '2026-11-28 20:27:58.936403+00'),
	(52, 'tools', '0016_team_requires_second_person', '2026-11-28 20:27:58.973958+00'),
	(53, 'tools', '0017_notify_people', '2026-11-28 20:27:58.990499+00'),
	(54, 'tools', '0018_private_teams', '2026-11-28 20:27:59.306394+00'),
	(55, 'execution', '0001_runs', '2026-11-28 20:28:01.176866+00'),
	(56, 'execution', '0002_accounts', '2026-11-28 20:28:01.184756+00'),
	(57, 'execution', '0003_early_runs', '2026-11-28 20:28:01.208135+00'),
	(58, 'execution', '0004_plain_labels', '2026-11-28 20:28:01.221512+00'),
	(59, 'execution', '0005_speculation', '2026-11-28 20:28:01.774034+00'),
	(60, 'execution', '0006_speculation_grants', '2026-11-28 20:28:02.342135+00'),
	(61, 'execution', '0007_budgets_and_agreements', '2026-11-28 20:28:03.234049+00'),
	(62, 'execution', '0008_run_tool_group', '2026-11-28 20:28:03.366117+00'),
	(63, 'execution', '0009_failed_outcomes', '2026-11-28 20:28:05.030665+00'),
	(64, 'execution', '0010_prediction_content', '2026-11-28 20:28:05.172473+00'),
	(65, 'learning', '0001_experience', '2026-11-28 20:28:05.600212+00'),
	(66, 'learning', '0002_plain_labels', '2026-11-28 20:28:05.610888+00'),
	(67, 'learning', '0003_episodic_memory', '2026-11-28 20:28:06.400821+00'),
	(68, 'learning', '0004_thresholds', '2026-11-28 20:28:07.445231+00'),
	(69, 'learning', '0005_prediction_totals', '2026-11-28 20:28:07.674495+00'),
	(70, 'learning', '0006_unlearned_episodes', '2026-11-28 20:28:07.946207+00'),
	(71, 'learning', '0007_episodes_wait', '2026-11-28 20:28:08.065662+00'),
	(72, 'learning', '0008_contributions', '2026-11-28 20:28:08.521291+00'),
	(73, 'graph', '0001_initial', '2026-11-28 20:28:11.635806+00'),
	(74, 'graph', '0002_notify', '2026-11-28 20:28:11.64618+00'),
	(75, 'graph', '0003_history', '2026-11-28 20:28:13.306499+00'),
	(76, 'graph', '0004_paired_references', '2026-11-28 20:28:13.518632+00'),
	(77, 'graph', '0005_early_graph', '2026-11-28 20:28:13.850033+00'),
	(78, 'graph', '0006_plain_labels', '2026-11-28 20:28:13.907197+00'),
	(79, 'graph', '0007_pattern_weight', '2026-11-28 20:28:15.411507+00'),
	(80, 'graph', '0008_embed_intents_again', '2026-11-28 20:28:15.681011+00'),
	(81, 'graph', '0009_embed_intents_anew', '2026-11-28 20:28:15.938661+00'),
	(82, 'graph', '0010_literal_witnesses', '2026-11-28 20:28:16.362062+00'),
	(83, 'gateway_project', '0001_initial', '2026-11-28 20:28:17.361919+00'),
	(84, 'gateway_project', '0002_token_last_used', '2026-11-28 20:28:17.572473+00'),
	(85, 'gateway_project', '0003_plain_labels', '2026-11-28 20:28:17.596628+00'),
	(86, 'gateway_project', '0004_roles', '2026-11-28 20:28:18.350256+00'),
	(87, 'gateway_project', '0005_oauth_client', '2026-11-28 20:28:18.620207+00'),
	(88, 'gateway_project', '0006_token_tool_group', '2026-11-28 20:28:18.987715+00'),
	(89, 'gateway_project', '0007_webhooks', '2026-11-28 20:28:22.162231+00'),
	(90, 'gateway_project', '0008_retired_user_names', '2026-11-28 20:28:22.197893+00'),
	(91, 'gateway_project', '0009_notify_of_migrations_additive', '2026-11-28 20:28:22.206582+00'),
	(92, 'gateway_project', '0010_owners_of_observations', '2026-11-28 20:28:22.24362+00'),
	(93, 'gateway_project', '0011_shares_of_webhooks_and_clients', '2026-11-28 20:28:22.674066+00'),
	(94, 'learning', '0009_threshold_names', '2026-11-28 20:28:22.834046+00'),
	(95, 'mfa', '0001_initial', '2026-11-28 20:28:22.989848+00'),
	(96, 'mfa', '0002_authenticator_timestamps', '2026-11-28 20:28:23.170091+00'),
	(97, 'mfa', '0003_authenticator_type_uniq', '2026-11-28 20:28:23.410052+00'),
	(98, 'oauth2_provider', '0001_initial', '2026-11-28 20:28:24.733857+00'),
	(99, 'oauth2_provider', '0002_auto_20190406_1805', '2026-11-28 20:28:25.966729+00'),
	(100, 'oauth2_provider', '0003_auto_20201211_1314', '2026-11-28 20:28:26.123031+00');
INSERT INTO public.django_migrations VALUES
	(101, 'oauth2_provider', '0004_auto_20200902_2022', '2026-11-28 20:28:27.1622+00'),
	(102, 'oauth2_provider', '0005_auto_20211222_2352', '2026-11-28 20:28:28.905236+00'),
	(103, 'oauth2_provider', '0006_alter_application_client_secret', '2026-11-28 20:28:29.586263+00'),
	(104, 'oauth2_provider', '0007_application_post_logout_redirect_uris', '2026-11-28 20:28:29.835848+00'),
	(105, 'oauth2_provider', '0008_alter_accesstoken_token', '2026-11-28 20:28:30.053989+00'),
	(106, 'oauth2_provider', '0009_add_hash_client_secret', '2026-11-28 20:28:30.197029+00'),
	(107, 'oauth2_provider', '0010_application_allowed_origins', '2026-11-28 20:28:30.367338+00'),
	(108, 'oauth2_provider', '0011_refreshtoken_token_family', '2026-11-28 20:28:31.97309+00'),
	(109, 'oauth2_provider', '0012_add_token_checksum', '2026-11-28 20:28:32.596008+00'),
	(110, 'oauth2_provider', '0013_alter_application_authorization_grant_type_device', '2026-11-28 20:28:33.026912+00'),
	(111, 'oauth2_provider', '0014_alter_help_text', '2026-11-28 20:28:33.138939+00'),
	(112, 'oauth2_provider', '0015_refreshtoken_token_checksum', '2026-11-28 20:28:33.951444+00'),
	(113, 'oauth2_provider', '0016_alter_devicegrant_scope', '2026-11-28 20:28:34.02895+00'),
	(114, 'oauth2_provider', '0017_application_dcr_created', '2026-11-28 20:28:34.118143+00'),
	(115, 'oauth2_provider', '0018_resource_indicators', '2026-11-28 20:28:34.446773+00'),
	(116, 'oauth2_provider', '0019_application_registration_source', '2026-11-28 20:28:34.984814+00'),
	(117, 'oauth2_provider', '0020_cimd_application_fields', '2026-11-28 20:28:35.244761+00'),
	(118, 'oauth2_provider', '0021_translatable_field_labels', '2026-11-28 20:28:51.338713+00'),
	(119, 'oauth2_provider', '0022_refreshtoken_token_family_index', '2026-11-28 20:28:51.451452+00'),
	(120, 'sessions', '0001_initial', '2026-11-28 20:28:51.489838+00'),
	(121, 'socialaccount', '0001_initial', '2026-11-28 20:28:52.001966+00'),
	(122, 'socialaccount', '0002_token_max_lengths', '2026-11-28 20:28:52.138748+00'),
	(123, 'socialaccount', '0003_extra_data_default_dict', '2026-11-28 20:28:52.214099+00'),
	(124, 'socialaccount', '0004_app_provider_id_settings', '2026-11-28 20:28:52.360008+00'),
	(125, 'socialaccount', '0005_socialtoken_nullable_app', '2026-11-28 20:28:52.692589+00'),
	(126, 'socialaccount', '0006_alter_socialaccount_extra_data', '2026-11-28 20:28:52.851103+00');
INSERT INTO public.execution_executionevent VALUES
	(1, 1, 'run_queued', '', -1, '2026-11-28 20:29:53.704173+00', '{}', '93f7eed6-9833-4c9c-8bb9-d90d8de76467'),
	(2, 2, 'run_started', '', -1, '2026-11-28 20:29:53.675944+00', '{}', '93f7eed6-9833-4c9c-8bb9-d90d8de76467'),
	(3, 3, 'task_started', 'count', -1, '2026-11-28 20:29:53.675944+00', '{}', '93f7eed6-9833-4c9c-8bb9-d90d8de76467'),
	(4, 4, 'task_succeeded', 'count', -1, '2026-11-28 20:29:54.131942+00', '{"duration_ms": 379.7355440001411}', '93f7eed6-9833-4c9c-8bb9-d90d8de76467'),
	(5, 5, 'task_started', 'look', -1, '2026-11-28 20:29:54.131982+00', '{}', '93f7eed6-9833-4c9c-8bb9-d90d8de76467'),
	(6, 6, 'task_succeeded', 'look', -1, '2026-11-28 20:29:54.171345+00', '{"duration_ms": 4.376516000775155}', '93f7eed6-9833-4c9c-8bb9-d90d8de76467'),
	(7, 7, 'run_ended', '', -1, '2026-11-28 20:29:54.171376+00', '{"status": "succeeded"}', '93f7eed6-9833-4c9c-8bb9-d90d8de76467');
INSERT INTO public.execution_payload VALUES
	(1, 'workflow', '', 1, '\x80000000006b0b39c1587f9d137aa1dff281590e8ed5bf47a6d58dd61065a498f954a1bf9e8cbba96ad64318625ec9d44caf3e3e769cbd1483d411b028f4bcf09dc1284e7ceca3c50252d7e009674ca68dbe8d09fd8d6ce586e6bc322ac4a93268349e782e463e084328d57b207a54a419c71d8eff52ba8da7c61dbdf15decd7949d7c6c92427b23515fe79a387114f826f676f02aae8c0b9d2c5dc473b8cd97cad0aa50921a2048454417434fa93f5f1735e82be8e6b2f2a143bab67e1122eb09d2694d956d3375768c9da7adc40255429e493d7593df1f9475c2a767f99a8e4ecc036dd60cc7320ff4c535ca00516a353a244b9a069ef381', 186, '93f7eed6-9833-4c9c-8bb9-d90d8de76467'),
	(2, 'result', 'count', -1, '\x80000000006b0b39c2c8d8e1af7f38df0eed04c4e1501257613a40795d998ede0abb4f5d4277def37bb1222546881512ea894b30613c0648a06bff00bf01412a1a68af34237ccdb3da098cd56e9994d86e70581af9db52295eeb0c76b70778e5df28a4d0d06d970eaf9d261b6a43c514d9004db39d9b174787dba74ce9874ee0c3309f04fe9f509292a59bbcca9d531ccad83e4da9c2e51019969532f9d595316e037da1b4f81bfba60d1f078c1226f8bf3f5d82869ce27c5c9213616e18d96a86ab4a86643870969ccf312c760944596b613df0e9ffbb1905159292a9833b8dd5e033043de9f655f8c7403af21edbe5a52a0d94aa4a532e4c7357659effbd9a5b9780c41d4f40f540', 194, '93f7eed6-9833-4c9c-8bb9-d90d8de76467'),
	(3, 'result', 'look', -1, '\x80000000006b0b39c298ce18cb6fbc9ffdbbd31547451dfd49c6461fc9b0d98486391bc71003fe0059840e7f18a615c775d439110af5416250a64789352cac3a50e6f0be8602977919a3217020c7dd41cc428e916299ffd5ffb44dbdff25730de719e8adc2b91ffdf9fe696cf186cdba0aca92a9f55223b61ccb0677e857ca8e1385c6b5c0823ddd727fbc7a794ffc4803b80cd0c4a5b6346d62026fcb570017a3bf3dd046ee65654f4e416ec7e72a8fb35a2f34c108ca331216f98c64472addf2998506fb448ded0f0310bc93e0127d7ebf65d80d38aa6e057be4f69064fd6e833819156beec7ca550a78f42c52c18807daba36e885fa4833cf0ce731d764db04d63c8aaa470e6406', 194, '93f7eed6-9833-4c9c-8bb9-d90d8de76467');
INSERT INTO public.execution_speculationcontrol VALUES
	(1, true, '', NULL);
INSERT INTO public.execution_taskrun VALUES
	(1, 'count', -1, 0, 'counting:count', 'succeeded', 1, '20ac7884d1e542118e739b50a9e73f474727655704d65f09f17b28e4d37e270c', '6ba69181b193012d1c32f58bcfd200188cd5691224b235fe98d6d64bad6d75c7', '2026-11-28 20:29:53.675944+00', '2026-11-28 20:29:54.131942+00', 379.7355440001411, '', 194, '93f7eed6-9833-4c9c-8bb9-d90d8de76467'),
	(2, 'look', -1, 1, 'counting:look', 'succeeded', 1, '45f894ba102ff4e8d97d9102c25e59f5e09aa77aa0be9c4987011675b5427c78', '2377aeb202263c89d50a7d250e735519079e915f5a6dc70aae9b94d36a874b2e', '2026-11-28 20:29:54.131982+00', '2026-11-28 20:29:54.171345+00', 4.376516000775155, '', 194, '93f7eed6-9833-4c9c-8bb9-d90d8de76467');
INSERT INTO public.execution_workflowexecution VALUES
	('93f7eed6-9833-4c9c-8bb9-d90d8de76467', 'admin', '["*"]', 'command', false, 'succeeded', '{"on_error": "stop", "deadline_s": null, "per_layer_validation": false}', 1, 2, '', '4db663d359ed56ecb7c61a3dd0ef879cfb5acf1c0cf7bbd143af193b7ff32f24', '', 1, NULL, 7, '', '2026-11-28 20:29:53.704173+00', '2026-11-28 20:29:53.704173+00', '2026-11-28 20:29:54.173989+00', '2026-11-28 20:29:54.173989+00', NULL, NULL, NULL, NULL, '');
INSERT INTO public.gateway_project_auditentry VALUES
	(1, '2026-11-28 20:29:13.353595+00', 'admin', 'command', 'server.registered', 'counting', '', '{"changed": []}', NULL, 1),
	(2, '2026-11-28 20:30:11.12805+00', 'admin', 'command', 'history.imported', 'history.jsonl', '', '{"runs": 1, "patterns": 1}', NULL, 1);
INSERT INTO public.gateway_project_metrictotal VALUES
	(1, 'foregate_call_seconds_bucket', '{"le": "+Inf", "server": "counting"}', 2),
	(2, 'foregate_call_seconds_bucket', '{"le": "0.005", "server": "counting"}', 1),
	(3, 'foregate_call_seconds_bucket', '{"le": "0.01", "server": "counting"}', 1),
	(4, 'foregate_call_seconds_bucket', '{"le": "0.025", "server": "counting"}', 1),
	(5, 'foregate_call_seconds_bucket', '{"le": "0.05", "server": "counting"}', 1),
	(6, 'foregate_call_seconds_bucket', '{"le": "0.075", "server": "counting"}', 1),
	(7, 'foregate_call_seconds_bucket', '{"le": "0.1", "server": "counting"}', 1),
	(8, 'foregate_call_seconds_bucket', '{"le": "0.25", "server": "counting"}', 1),
	(9, 'foregate_call_seconds_bucket', '{"le": "0.5", "server": "counting"}', 2),
	(10, 'foregate_call_seconds_bucket', '{"le": "0.75", "server": "counting"}', 2),
	(11, 'foregate_call_seconds_bucket', '{"le": "1.0", "server": "counting"}', 2),
	(12, 'foregate_call_seconds_bucket', '{"le": "10.0", "server": "counting"}', 2),
	(13, 'foregate_call_seconds_bucket', '{"le": "2.5", "server": "counting"}', 2),
	(14, 'foregate_call_seconds_bucket', '{"le": "5.0", "server": "counting"}', 2),
	(15, 'foregate_call_seconds_bucket', '{"le": "7.5", "server": "counting"}', 2),
	(16, 'foregate_call_seconds_count', '{"server": "counting"}', 2),
	(17, 'foregate_call_seconds_sum', '{"server": "counting"}', 0.3843095810007071),
	(18, 'foregate_calls_total', '{"server": "counting", "outcome": "ok"}', 2);
INSERT INTO public.graph_graphstate VALUES
	(1, '2.5.608396870595800401', '2026-11-28 20:29:32.426347+00', '1.0.0', '2026-11-28 20:29:32.426347+00', '{}');
INSERT INTO public.graph_learnedbinding VALUES
	(1, '', 'call', '', '', 0, NULL, '', 1, 1, 0, '2026-11-20 08:00:00+00', NULL, NULL, 1, '{2026-11-20}', '{}'),
	(2, 'name', 'literal', '1f9ce37d2c35bbfa9e5dcd347247fa879f54bf0267e10d3f25387dab71b9e089', '', 0, NULL, '', 1, 1, 1, '2026-11-20 08:00:00+00', NULL, NULL, 1, '{2026-11-20}', '{}'),
	(3, '', 'call', '', '', 0, NULL, '', 1, 1, 0, '2026-11-20 08:00:00+00', NULL, NULL, 5, '{2026-11-20}', '{}'),
	(4, 'after', 'reference', '085c257ac9795c28b247daed4c661049a999bda5311629f5c8d3e273335b0e06', '/name', 0, NULL, '', 1, 1, 0, '2026-11-20 08:00:00+00', 1, NULL, 5, '{2026-11-20}', '{}'),
	(5, 'name', 'literal', 'db61a76e76c606e0fe063e6a757762259952473ed79d25077563779e0b20cd8f', '', 0, NULL, '', 1, 1, 1, '2026-11-20 08:00:00+00', NULL, NULL, 5, '{2026-11-20}', '{}');
INSERT INTO public.graph_patternembedding VALUES
	(1, 'sentence-transformers/all-MiniLM-L6-v2', '[0.061399087,0.06723421,-0.068120204,0.0025381004,-0.06453953,0.05437076,0.06833768,0.023353193,0.08962807,-0.039993133,0.022212902,-0.11469983,0.08879307,-0.023004603,-0.13729891,0.035299607,-0.039635178,0.024090875,0.016637182,-0.13350533,0.023985602,-0.04503366,0.052052435,-0.032022215,0.006104298,0.112824626,-0.08328431,0.0009002489,-0.04858417,-0.04035262,0.0035100216,-0.018012272,0.04805059,0.086586244,-0.034808863,-0.05709677,-0.11651973,0.018722558,0.027890448,0.007996283,-0.038546454,-0.07819509,0.05054063,0.00069468963,0.089555524,0.041945502,-0.015534757,0.070614524,0.05791402,0.026428,-0.053013436,-0.014309157,-0.059213452,0.01804519,0.031401154,-0.017239233,-0.007483059,-0.061246693,-0.010703502,0.050485335,0.011776692,-0.051315818,-0.0007730002,-0.053373206,-0.07767503,0.03971593,0.035914425,-0.0879609,0.037669137,0.042288642,0.058808614,0.10703466,0.13306852,-0.007929489,-0.12830235,-0.043214526,-0.05548413,-0.029468367,0.051166505,-0.0054163183,-0.07773959,-0.071377784,0.005163645,0.02007007,0.052114133,0.04363309,0.004280054,0.0045738993,-0.0368487,-0.032117907,-0.1181626,-0.018981762,0.027790647,-0.021350002,-0.0032374847,-0.0072162123,0.020773001,0.066833965,-0.036553554,0.08482122,-0.04545377,0.017678978,-0.01114486,-0.012054745,-0.052846886,0.10023239,0.07498083,-0.040405028,0.04970725,-0.05433779,0.05750224,-0.0151627995,0.037881806,0.048670307,0.0058451905,-0.10210207,0.052761983,-0.040359832,0.030712804,-0.05221252,0.1140487,-0.008786096,-0.0316159,-0.010096369,-0.07411214,0.02027665,0.058618758,-4.382162e-33,-0.011219226,0.006831266,0.10376733,0.062285293,-0.020313542,-0.05926995,-0.0014113764,0.06945908,-0.087322295,0.05112874,0.011651667,-0.07821213,0.098386206,-0.011332481,0.005856919,-0.016414111,-0.0014406058,0.0015394475,-0.102235064,0.0070791245,-0.010584962,-0.09829424,0.005009601,0.047672555,-0.010678162,-0.015155228,-0.0059913816,-0.06661766,0.053378373,0.022193663,0.06357161,-0.009095789,-0.08187953,0.04513167,0.095599666,-0.06946068,0.018981153,0.024920098,-0.005692799,-0.0034325486,0.0071097533,-0.03734765,0.014593083,0.010245181,-0.10539398,0.057457805,0.05262561,0.011393977,-0.03748173,0.06008775,0.0959993,-0.012538263,-0.037147224,0.061687507,-0.022297654,0.03801068,0.0005698855,0.042446416,-0.0102434885,0.08879008,-0.00782747,-0.048781637,0.0057524685,0.09214112,0.041213598,-0.02912854,-0.009269001,0.016759077,0.015029912,0.030094057,0.05202903,-0.021913126,0.08189201,-0.02379274,0.013237037,-0.0030368238,0.039233778,-0.02240912,-0.11206349,0.038819745,0.007680237,-0.027684653,0.06842661,-0.021487389,0.0018438277,0.09870124,-0.0433397,-0.05657899,-0.06289464,-0.02092073,-0.007934483,-0.025848081,0.017076008,-0.073119335,-0.063796684,2.1267611e-33,-0.013812319,-0.011917848,0.01040994,-0.024298338,0.03183121,-0.07692014,0.011110004,0.028628694,0.017471634,-0.0074463245,0.03461949,0.012536654,0.006775407,0.010618528,0.089207105,0.0721646,-0.0104011735,-0.0023417461,-0.05646229,0.030568944,-0.03435141,-0.015907684,-0.061717506,-0.0255676,-0.0559809,0.06136746,0.06509977,-0.1276911,0.018919816,0.0007736788,0.0523487,-0.03586098,0.047186688,-0.0029181398,-0.056094423,-0.0059366925,0.060273264,0.006826992,-0.04408173,0.0051370813,-0.0012063843,0.024490522,0.016694373,0.0242311,-0.006468962,-0.023787552,-0.036795896,0.051877383,-0.022700012,0.022987705,-0.056052398,0.0067684553,-0.108665675,0.04271588,-0.032824874,-0.038397435,-0.024990572,0.007701292,0.014757911,-0.03447654,-0.03200047,-0.0027953105,-0.012434587,0.09910029,0.036013093,-0.009309924,-0.0950552,-0.013832748,-0.046047285,0.00010260958,0.036266148,-0.042762186,-0.0956256,0.015485859,-0.0014179616,0.07623921,0.013889424,0.008521627,-0.049278095,0.07747622,-0.030229421,-0.10913564,-0.01376972,0.049961597,-0.018812096,-0.011463457,0.07238733,-0.005603608,-0.024596112,0.0046923105,-0.0057407,0.0012808181,0.025573216,-0.096489646,-0.004446684,-1.9627645e-08,-0.030822845,-0.093060054,-0.011534001,-0.042341772,0.09055035,0.09931521,-0.0091801435,0.04804217,-0.019551849,0.003821819,0.06432285,-0.03137776,-0.04294219,0.04090559,-0.0015944664,-0.018540226,0.0076743322,0.10327233,0.0049245306,0.038734943,-0.00043396305,0.017692227,0.018810833,0.010879445,-0.024474379,-0.052916706,-0.02255904,0.061824575,-0.04699939,-0.075928465,0.055603385,0.066608556,-0.08605791,0.02294568,-0.0025669166,0.05019896,0.00012892109,-0.00063823664,0.0117630325,0.02156243,-0.028112464,0.030853348,0.0017616714,0.06256421,0.021372568,0.016561015,0.01905696,-0.15985347,0.026394682,-0.08675194,-0.03885546,-0.061225943,0.036015157,-0.02829164,-0.12559979,-0.04203229,0.020523466,0.020036668,0.03327008,0.06913573,0.027642136,-0.0381426,0.038298767,-0.042423293]', '\x80000000006b0b39d35c82f066bc716f9b43c556c5e4cd8eaa1eea2cd9e18823d92e8701bab55f5977f485de4d5f5f18963d5878756e15a6225aa9c04fded92e25c205d7001321c71e667f33b8e363a40846dcf6c3f197433cf72ef7d5a7f8654932352a45f2f46faddba1127a4a198e6c5279f83ecb0d70da9cff84d54ac81b4f0b0e31b98a2fb3af96b042c147720231929b778ecfe1296b59b33f45d58f7029d84b560aa251bba520b2f174c7220196e5d5271b8383f726fbbaaaeadf43f2b639135d7b3a2f0eba234fe028633a5a62b88eca663e70fab2bbcafb24c1b1c934f4ddec76e0785cdc1b833868d73305cf9e16aded77f7645f45331430bdbf625f58651856fd15b2047893e4297f4da6fa5575ba3b465e444e493999982972b37cb884d000d8af29dacf187369db3d10cdf6e2c53c6f22981c0c891842fca4c469fb2505e5b21beed8cccc029bf419ba5a22fea882708b3f1094d587d79e2ede62189176d107223978b2064f9529033cc774962ea691175dd49db144ef9fa1eb5745effaa923a3a2b38f10f36c23e0728709e54d8710da180baa7b5969f51c242f64da23b62779038b40fb1d70b36ee6562e29bc6e0eecc70c16b78744c41fd394fad0caa9314575f2ed68463cd3f144ca5a77269242210ab7f548354f83d4afebe1f1a0460cbf530e42fda632bd7bbca3baa1168f4fc5063d059fdc5865671f9de5e2d62cadf118c29de5073ae352dda037df52d8b2afb2b09d545fc9d1d177b1add8bdc08d7656f68da494456f2f4584506e1d7eefadbc7a41fb67a8672fd17460c97946af650d3af0a888695515356b584e9986106491b1dea1be37ad11b4326b847f7fc406face6c409bbdb8f338993af1c5531c523efafcfdb6fa4b2d46ca06dc0cbb385543fa0f07735e5bf5558175a252fd0bf155a6a97f5c3958c818f5dfe4b6c307165e3a7e7128bf30f0e80cef96b91b5ef9d1cf0b419f5cef328e213977ef9d21d9e677971bad1d00a99adb694a689383337b2a474b310573fa088053d04daa1074c6eedefd8f8bd181d7fd2341528df58050a0a0cb4d8967409ef1b703799329a246d0f4423c85fc2730ccbd08270cca32187a4f2a114d0f9d421df932843b958c320a381fa085e501e96f82a608ce3ee811a0d877954bcaf89f4fbbb79372acfbd504caf5328555f7aa2f8054ae8d13b1306f5d559ea324a590fd2eb4ed71d227a96d7023d9ad27c8206c0dfa95e240208af41697434527475679c9edfcae1c65245b0419512abfce745d2fccee3ebe72b308e40d8540459c1a355e8f930e3af3a2f8730c4eedda45e2851e0cde546a743c03b0f5fb6725302c6be5912ac8444cc8d6a593112aecad8dc73ca42ed4b415736160f82bdd3b4687d20a276ea00f64fa770be224f3b4e5d68cd6df52cba3b6827c788e395d3a8595c10c208166a0390be58616a7ed14f2a6c912a80c769b777a5b1c970b6b4dbae97581f0ee6eed7b8e8445a1668c10e344cf1438e2df50ef9262ac1c42d7e7e1afd982d42b768a57edc07b9c1e4ddfaee39046dddcc9901a8598bc2ceabb9a0ea0404889dcbd6ee519d2a0d8da199be2b221deabbb1af7c3119c3d01ebd2bb8031152be7f1cf40c414b0ff950bb17b26bd41136bcb3dfa31fdf92dce537f3c26d7b4c8b0e3fd007bb5c09942802a2575d7357f875a0beb9139a29890497977303489e8c48bf76945fe0de61e985502386a8b3ed800699504dbd7d8496111387284b4e663794b42f149bdf86dd30c5745a5ba74f716585844cc8860f2236b37f7da58c5e8e4b5a10f446c3d3d2acfa20340cd08a4219718b098f77596ea9b9bc1d8f110a816ca2d990e4f03696157576f439d63f1729671daf9a0f9d8c83491d844cdf93f1cc01bc9507f8cb5dae90b4652fc1af0560395fda574ec9f5bf063acd06cd0a37c39a1672fe6d56ea9fa8b81f3a6261565108746867fc0d86be342bc08c673a59df623c5f726c575eec6098af4fc0054a6ce568b6b66d3a2ed3d94b9d73be5bf94b0f829163f59d8e9ff382a31f4abb72fd06c6a6f1180ae0d13413c0d6e88af284fe5720a9e6d3e6634b96f0269b5d4632fc2ccaa9c22149967c70dd8266e364a439eb1af2911f6ca200963499b6ca2a8bb11a60ad75f9055536c33dc7bd722e727bde5bfd265ba6df8f92475f400c78d63b568c59147240053db730ba52350da909b485b94fa6ddfa13e5770491c45af9171a0b884441c551a61603ee6522c6e56bf90bda0d2a66f53ef75b776d4feb72f94bccd73cd6a0e26d3ad88baa6375a4c4bb82d8df4e88f5fa60572bd4dec53d3136dc603a69fc4121a693350c6e3ebe40601d26ff184dc50814fddc786c4e16c423f94c3563d90e04a0a1d25c2d301c20d7b018e66c9350a2a515bae364250a32e4a60a028217e821577508f99fe39f6c04650f79f228ef86bbd7cf53d4f115f0d4927f1eb13ccb9c86ec215b871e49454949cce0cb5c2dbcf204aceb3eb61d9a6f762c3a977aaf4ef293bcd1e7d5c4ddea7da047db7d266d9c6fb5a49739d1ec21952c1db31dfba14d72d3e56b233f5aae3ed842ace62baaac99d9576649ac5a622875c40b8471031e1a4bbef18a9c81268ce5abfaf02e0730113ba18710a9c75a5c1ed11293c3a5521a399b9fe280d01719fa06e56598ac21dc538c49e51c6bcc6bf3e14d58a1b1550cecb13fcf120227796e061704aee6968deaf2b4f1f8dd1cdb1e729c57c4d372ca48eb1a1f864f9eb5b07db7b7f67ff7e2458894a08a93082cb42400321801828807d1583e43263d576e5b6663872f21704c6abfe3825d2297282e67949259bd651e3edb28ea4ee5a271af4c1bfaef16233b441257fcaf90eae617d69dec3febd76237018e2a0db1485a602beed90102c2d3934fb9be5cb96f748f22b44129d8273e6bbb5282d97d87e263344ec13e72d39f0c68ea19c6eed3189a32425a329613f13d3acf5bf2139a3fd0a70508d4d16fbbd3e92839a16371bd9aa0c495126b85f8d4c94f4dde97ab8a8e3380b9e7bee0aa98462f2f16c4917bd91d8116d05c547f67e35653f3ba9af47821548c8a2b8060cb0b77c3c8897d7e41a544f2c1c280ff27b4dc4ff63adbc52488fa44aff9c2db93d38eb59607145e818476ab3def80f3ba50a4e3360bb4f0a36d4b4beb2777322308f5bfeb869e3964a8ef387a50078568f66dfbca2c0dcf564f99e3f76a37b35b8fa036faef3bf533dbea08dc586845ff85e48d0360de5e507df45146edbbb8b61a890942ed77f4214452ecb980f8b3a1e300f6d528cc022b20e70690f6c877749e883eac42637033dd1c41a73cfb1d29e771c3ea94da6cfc418d64743fb8ce35e77c5756f87fe4033afff1a28c23cefab0904eba4790daf580521b62771c67ee8acf1eb38b52e63ed7f0eec342553bbe002d5fbc79b388231762ba395cd9cdd7e9b178ca8c4f9fef6a7b63a5e74ed674d07a0fff800f8dee7e7a67ef3dcb92df8f91a962ea4f8e7a5b55f93d0d98516d43d9146e45db07285722d8dd41259486f6af3417f24a2b2fd80eaf0248a9a96f14546fe8171f2c14a70658cd05a24dde91341a9e1f08d682b91eb0b25c7c5952e6a821eb7e3489fa251583e8b5e168d15d0cd7ebefcbbd5102c80103f043a54d644c251a3757e0ea61ef16e394bb023cebb279205ebf10d4d4d3f0d4265354477d34a1b426c22db6735b6b64b208f2649f305ee0d0d6d66fd2b8caf4ac67f929c23856e4218f641323458c00d6a20ce0a60b580c2f931066abdd90d477ed05f719ac7164f7e15ba98d06c09ae2189e5a150500b3b5810c074a77b030cd9c48440ee898e2d9276ed4d3bfa815c1ee651578756d6e2d27b0d7038032bf5b6f33fd9cd51478ff7a3ae70a93f81bd1f9a371e5abe1f84c5b35addb751bc42e26eb16d0cb2f64a0f56225d6c154de25c3b2514ce221b609ee82214275f60dec669e13659e1c8da23e32ef46369d16af895e4328db7b83ca7e13aeabd8a5dc2cffc5355c5441cf15ff8c0315429c631378a373939bff03b6a9e3a4c453b303830e6f2054913e01b51bd94960ddf6c2e0708cd14984c4b0858f84a07c1f950cdd3d97f6832a19123c6d8c2ccf00d4c78241b535637030fd56f246ff45a03a67188c42096ecd959d57e8147b89fe338e88486f14918a5b1445b20a6dadccae56cb551f6efb7a5943d2a7cb238b0929df466a362e7d016d5405bd60ecefd4c8816343c02805957e61b7bb3b20dff888a211b5e05781f4e3ad4c395fc9b406ad8d070e2c33d128a031d2bcc66d6d308929dcbb80a72223bb0f6b574d1ed23579e6fd16514ff160759c00500e235b1cec2f016a5ccef37a4e7c2154ddb07e5a36a4fb99ab5122366c4a2dbcd6eb345046b8f575ec02eed15ae7c8952b4008c33c049635eb14367abd278c26279553bcbcc9dca6a4af45595a45b0ee4bda3381b5799a7cdc6869abf88246467df6bb79104be5b80b4e9aea5a2c676e70257efd4b17a542e920158aee134ada5246c32ccf9781e54426a1c07e1405a58e1299e6d3220d5be90f86fe3de2eb029cc2e33b63559d62e181267c53366be508c35cd7cc3a2288c47e1aee133bf710d2ea591c2bf30e910b03ba5de8290b8b876440aab9279fff7702f862c93820d9620bc77cb749c05df1e4cf1713daea78151cb22e5e2398e956340d2414663db6563ba3a1ad695843f164edd90f80c5d3528967bab57e50e662b0dd20e027efea0c5100e0611044bb342a0c7f91bc070bd04886c263058562a1fadf418a46b156b425be274d21ab2e3073dcd741800ee8b81ef8ac40498d32379e01f14ab7cd695fc98d1b85ad874a5034f97aa8d5f899dd6dcbc0d622eeb2e26a5af339903d40c3ef69c19d9a71dc10c48c6fb458b4b5a68d5d4ef46cf488169e81a7971b31443a42f13d2eb3146dad9e0297b90b6db0f945fb91ccdefc94d4c8aa5b84f362cb2e60ac17047b9346b2a8ad67354d08601d2a3bca14802fec9fa13560916640e2f572ef90faf9333dc0208ef6f3c2947a5d178cfd5bfbf2264e69f65d9e381a7b186fbe80264b8522a9339f1b257e8e069dffd43a3c581887380c79f336bc7dbf94e0aab438c1f0df22d8f8661ca436a829476aadc9b2561540d809f120ba801d70f361dd68aba0257b6f96d5a55a750bd48fc316ae155b18e2625a480524f319b7b0623dceb772556b90498f68f5f08de49db9d097ae956bfafe616d0c04fcf0b95ae84d9c2cdaacfd1bc03c829ec5520eee5abba738dbf97797b46131addbb6d783a8f346ca589a30f0aa785a52799679360a7903df1c13625aa5204eed8643380939c29b6bfb03089849c2983ea09b73bc28fcf38f86ffc43c1aa5e285afc1568a27f4be58c848154139df0e288eca845e3258e3ffa68e3e38a6b4ea67d0800e3195dceb02f00589ac6b4e4efebc12fa6b5283a5da89c351879ea2e0f312576dc940e976b24f7e256a3449502f817bf3a5791e7477d9729199d16022381a5aa13d4112e2f7b23ca0a6639d0528254040219ff0ca0744e96cd35db37db2590d5dd081a91fd9342c7637f78146f373f042734c31b3f2c534d60cbfe9b25714cfbeeb7d18412c54f45f7128991c3591389a2d956706dc05ab2597e7f74e240e724ee7784baa73f884bb9f43cf66ec47d7f0e1f1f15f2aec223745755ba6ae124c1794fb43414a6d47921d0baa952061936de38788f29cd14bb2a9a6d0026a61edb55c97a6caaba1c39a2839ed429a52153c07db3e5e2a1b23713536f6dc2b70b8f85ed7389d84a5f7ee61a7ff8814dd10a34003b1310049cc9d8143a7a5f34d7747b72f6a54572876291e84681dfb3ecd1497e79e3b9684432532ace6c972695b10ce9343d032e483fbb915195deeeddc7a61a7cb71a84669cd5ae080472e98e0b44e518eb851853bddb19c269a4ab5f65b94612589cd923bcbad1abc99d9cf71f72787962779f1798e986e795f42b2583b55c828911e35962b917378d78b5b4ed377961a69b7ea31ac773fc62ac7f2fae3b9daafe96549c4174d58c59d907d3361ec5f4a2135f79333c023143b5ddf953b7ea7981f7cc9aab2e7d3040867472728462a4713eacc3087d9724af38ae3687b1069695201cdb0c11c14fbacae96a71cbabe1430bc64cf01f4ae1cc6707d2bf1750c0833dbca430042eac79c0f069600a7ee6bf75edf427357a975f3f4a3f3722a160006dfad4a568ae4c58484be0a1d36b57a13eb02d78d3710f0b4af4c823dfc589bdd77059ea0f4ffdfc5cf7e07486ef23b4dda0f4c67c630e8473fa5c34cb208344a8c28c5361a1bc8dfdf133091dc52b29d607dfe56cbe515e270651de1dae352922b8b0cb828606783bda2e536319e4ece9a328d0bf9f1029022fece5db667a215e7e558cd5b4a0365b5d3cbc92bd92d2c94515ec3465c82c2d05c38868972efd908fc5f59b06316fb0c882af7674852bdd556e9828bb0598ac497ceccb98665269b34468a063b27b9faf80864f427c773d732210ea9a59e2bf88ae4c1375678483d93e8f2dc280e6e5145e52e8d45b0272f5a53b16f36adea143ba0e7213b9b7e02586263b7cae6322efd1d33efb762f46e34f86903461dc949ee2e9e329807f61b73d1ddca80ab738342ff61aa2ac01ebb798e28c3d5d944c2e1d71f92f08c7feae3cbe5876ba193df7e3e1a8597f02292eb383597ffe1194cdd2211a7b3ddaafc47da227a07dbd43702d6e7ab160dd33e014541c6092c50dbc2001fde34e233f54853539a1dbc15449841804aa195c532ba48151efd2e2ebb300337554a2cba3ce6ef9349a2477967acb1fbe6f004cd709fa5c0bf0817f0114cd0708579a3618a6d0f894bee4cbb69768561bc573b3e57e508787603cfae2b500b94f517b90c42cbdac0331f98c4f6129183fb4b72676f4c7b7f2810f019d8f86d50fcc3379213f74ab03f1db27f918c98f1ab2e2e536535f6b008f427a50faae8994c0bfb06626dc3bc08e2759d166380fc9bc01579e782c4cd2816e937d3a11278f2c84e5d7a427dc3408d7c5f8ba41784287f6b4645d86f5fd4187ca92b9a14ccc37ba6a0954d373e0ee90b9d2b00e87100343261c1f28fb9fa7ede871cf3398243515dad4d8c67a633772cbf2e086329ad667d54f083f2b794decb834a9937810aba29164f04563f4a52f365dd3a93801504e6c002d66db36f36e98a11738b0370b1b1e60bf5c896fcc1cb4726fb6604cf08b36bce5105a6462fb57962df8e2b3e30cbe48439dbcaeeab94cbc0dec579cf3b74e3a2ae3488c761ef9554559fb017727af9190f04ee7e63e5e2c9c5f8231051bc0ce1494fbedfa81e89c60cb7a57d968dd2c12bdc702e8ed954a4c251ab929fa2c10bf189771b4d64a1b8f619762c9057ed17bc62a1f0dc95ec5404afabd986f5124f127aeed16e0214ff6cf6c09825fcbc630ed64accc7d5f3c61b421e45d0b026dd62c1a3a173bc7750f152e08b6ce4dc4df046ffb6b381510e2c1e9745cc5f6534750bf2373dbcce4e2c91f35d29d0169b76e2560442cbb08360ff3666df949538684098565375e169af252eef8849299b50b57199edf21f9e3107575e9d131fc3b7a7e9587d777dada00293b2a2cc1f070ffb6a0dbfad03244fe61574d9465cf7b485afd8d0f26dddb9d2d5b7b0388445c37799b904f51b57ef38f874b31c07b637441b701b3343e9bba936961d3d0752fecf018713cc84c2805f65dafce6e2254b62234fba165345ffd3a9aad48b28405d2567a3286113f7a48f2286007016394b8b1b5cad7ff0fe3ec76ab', 1);
INSERT INTO public.graph_patternrun VALUES
	(1, 'run-1', true, '2026-11-20 08:00:00+00', '\x504b03042d00000008000000210008b95b43ffffffffffffffff0c00140066656174757265732e6e707901001000c00000000000000064000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e136a68a6aea3a09e965f54529498179f5f94920a92704bcc294e058a17672416a402f91a9a3a0ab50a9400ae340606064b203607623320b6006243203606e224203605e214a81a4b24b124a83800504b03042d000000080000002100042a6025ffffffffffffffff08001400726f77732e6e707901001000000f00000000000030010000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91ac6463a0aa6169a3a0ab50a64022e066ca081c10608b1011b28c6027a2c191864b62399401a68809a8f4d1f4eb780ec84ea6c00d3a4d9da40d00e2cb682ec2cda02d1dfb39324bdf8edc4c303d9797c27d976520fa0c60fae54020264a7a1a21d482690061af0b80aa759e034b407aabf019f4a3c7612b003dd2d14c6276e3b71f1a0798582744b3d008b1f1b381f3b682023053060a421d240033c0d916c274a1a22c74e06d26cc69286686127a13434308050da81010ad210525d461a20270d61abcbc8b1136e1a7180a2f824270d3150986ea909f0959cc860340de105a36908078fb676122e0147eb4f82768ed69f74b713ad750e00504b03042d000000080000002100f62809eaffffffffffffffff0b001400746172676574732e6e707901001000c00000000000000051000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91ac6463a9a3a0ab50ae4032e061b061840b030459059286c00504b03042d00000008000000210045e68fb5ffffffffffffffff0900140073697a65732e6e70790100100090000000000000004a000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e536aa4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a163a9a3a0ab50a14002e56061864046300504b01022d032d00000008000000210008b95b4364000000c00000000c000000000000000000000080010000000066656174757265732e6e7079504b01022d032d000000080000002100042a602530010000000f00000800000000000000000000008001a2000000726f77732e6e7079504b01022d032d000000080000002100f62809ea51000000c00000000b000000000000000000000080010c020000746172676574732e6e7079504b01022d032d00000008000000210045e68fb54a0000009000000009000000000000000000000080019a02000073697a65732e6e7079504b05060000000004000400e00000001f0300000000', NULL, 1);
INSERT INTO public.graph_workflowpattern VALUES
	(1, '611af315feeeab05188b5516dda015a40edf010b8e502ac083bce7559aa911f9', '3196bac815fd122ab2819475b2b5e8c9d5aa79ed002c2a80eaeb80cc5ceda75e', '[{"id": "t1", "tool": "counting:count", "depends_on": [], "references": []}, {"id": "t2", "tool": "counting:look", "depends_on": ["t1"], "references": [{"task": "t1", "pointer": "/name", "parameter": "after"}]}]', '{1,5}', 'gAAAAABrCznQMVl_1NPpXisKtxC_4Q-E_rr6tSifDupghfbD8vRRLQ24fgFqUS3U3f1Cpaf9KybSDFvqnBqZCbLBBG5LsWIDyIabxol0nc9GSIJLTixT0_I=', 1, 0, '2026-11-20 08:00:00+00', '2026-11-20 08:00:00+00', NULL, 1);
INSERT INTO public.learning_episodicevent VALUES
	(1, '2026-11-28 20:29:54.131055+00', -8208992147001515935, 1, -5558032666887216551, 5600203647642214942, 2902901683505700531, NULL, NULL, 380.2521030011121, 1, 1, 1, '{"run": "93f7eed6-9833-4c9c-8bb9-d90d8de76467"}', NULL, NULL, 1),
	(2, '2026-11-28 20:29:54.1712+00', -8208992147001515935, 5, -7976606805633026830, 5600203647642214942, 2902901683505700531, NULL, NULL, 4.66135999886319, 1, 1, 1, '{"run": "93f7eed6-9833-4c9c-8bb9-d90d8de76467"}', NULL, NULL, 1);
INSERT INTO public.learning_eventspool VALUES
	('8262a452-602c-468d-9952-a326c191b0cf', 324, '2026-11-28 20:29:54.207514+00');
INSERT INTO public.tools_dangerousoperation VALUES
	(1, 'delete', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(2, 'drop', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(3, 'destroy', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(4, 'remove', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(5, 'erase', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(6, 'wipe', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(7, 'purge', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(8, 'truncate', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(9, 'shred', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(10, 'uninstall', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(11, 'terminate', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(12, 'kill', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(13, 'trash', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(14, 'rm', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(15, 'rmdir', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(16, 'deploy', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(17, 'publish', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(18, '^release', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(19, 'broadcast', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(20, '^email', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(21, '^sms', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(22, '^message', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(23, 'payment', 'dangerous', 'moves money', 'seeded', true),
	(24, 'pay', 'dangerous', 'moves money', 'seeded', true),
	(25, 'charge', 'dangerous', 'moves money', 'seeded', true),
	(26, 'bill', 'dangerous', 'moves money', 'seeded', true),
	(27, 'refund', 'dangerous', 'moves money', 'seeded', true),
	(28, 'withdraw', 'dangerous', 'moves money', 'seeded', true),
	(29, 'purchase', 'dangerous', 'moves money', 'seeded', true),
	(30, 'buy', 'dangerous', 'moves money', 'seeded', true),
	(31, '^order', 'dangerous', 'moves money', 'seeded', true),
	(32, 'transfer', 'dangerous', 'moves money', 'seeded', true),
	(33, 'payout', 'dangerous', 'moves money', 'seeded', true),
	(34, 'execute', 'dangerous', 'runs what it is given', 'seeded', true),
	(35, 'exec', 'dangerous', 'runs what it is given', 'seeded', true),
	(36, 'eval', 'dangerous', 'runs what it is given', 'seeded', true),
	(37, 'osascript', 'dangerous', 'runs what it is given', 'seeded', true),
	(38, '^shell', 'dangerous', 'runs what it is given', 'seeded', true),
	(39, '^sudo', 'dangerous', 'runs what it is given', 'seeded', true),
	(40, '^bash', 'dangerous', 'runs what it is given', 'seeded', true),
	(41, '^powershell', 'dangerous', 'runs what it is given', 'seeded', true),
	(42, 'format disk', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(43, 'format drive', 'dangerous', 'may destroy what cannot be brought back', 'seeded', true),
	(44, 'send email', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(45, 'send message', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(46, 'send mail', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(47, 'send sms', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(48, 'force push', 'dangerous', 'acts on the world outside and cannot be taken back', 'seeded', true),
	(49, 'place order', 'dangerous', 'moves money', 'seeded', true),
	(50, 'run command', 'dangerous', 'runs what it is given', 'seeded', true),
	(51, 'run shell', 'dangerous', 'runs what it is given', 'seeded', true),
	(52, 'run code', 'dangerous', 'runs what it is given', 'seeded', true),
	(53, 'run script', 'dangerous', 'runs what it is given', 'seeded', true),
	(54, 'run python', 'dangerous', 'runs what it is given', 'seeded', true),
	(55, 'run javascript', 'dangerous', 'runs what it is given', 'seeded', true),
	(56, 'run sql', 'dangerous', 'runs what it is given', 'seeded', true),
	(57, 'run terminal', 'dangerous', 'runs what it is given', 'seeded', true),
	(58, 'run in terminal', 'dangerous', 'runs what it is given', 'seeded', true),
	(59, 'run all cells', 'dangerous', 'runs what it is given', 'seeded', true),
	(60, 'write to terminal', 'dangerous', 'runs what it is given', 'seeded', true),
	(61, 'interact with process', 'dangerous', 'runs what it is given', 'seeded', true),
	(62, 'evaluate javascript', 'dangerous', 'runs what it is given', 'seeded', true),
	(63, 'evaluate script', 'dangerous', 'runs what it is given', 'seeded', true),
	(64, 'evaluate code', 'dangerous', 'runs what it is given', 'seeded', true),
	(65, '^start process', 'dangerous', 'runs what it is given', 'seeded', true),
	(66, '^run process', 'dangerous', 'runs what it is given', 'seeded', true),
	(67, '^spawn process', 'dangerous', 'runs what it is given', 'seeded', true),
	(68, '^run cell', 'dangerous', 'runs what it is given', 'seeded', true),
	(69, '^run notebook', 'dangerous', 'runs what it is given', 'seeded', true),
	(70, '^run container', 'dangerous', 'runs what it is given', 'seeded', true),
	(71, '^run pod', 'dangerous', 'runs what it is given', 'seeded', true),
	(72, 'overwrite', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(73, 'revoke', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(74, 'ban', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(75, 'reset', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(76, 'revert', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(77, 'rollback', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(78, 'disable', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(79, 'clear', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(80, 'shutdown', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(81, 'reboot', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(82, 'roll back', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(83, 'shut down', 'destructive', 'may destroy what cannot be brought back', 'seeded', true),
	(84, 'add', 'write', 'changes something', 'seeded', true),
	(85, 'append', 'write', 'changes something', 'seeded', true),
	(86, 'apply', 'write', 'changes something', 'seeded', true),
	(87, 'approve', 'write', 'changes something', 'seeded', true),
	(88, 'assign', 'write', 'changes something', 'seeded', true),
	(89, 'attach', 'write', 'changes something', 'seeded', true),
	(90, '^archive', 'write', 'changes something', 'seeded', true),
	(91, '^book', 'write', 'changes something', 'seeded', true),
	(92, 'cancel', 'write', 'changes something', 'seeded', true),
	(93, '^change', 'write', 'changes something', 'seeded', true),
	(94, 'checkout', 'write', 'changes something', 'seeded', true),
	(95, '^clone', 'write', 'changes something', 'seeded', true),
	(96, 'close', 'write', 'changes something', 'seeded', true),
	(97, '^comment', 'write', 'changes something', 'seeded', true),
	(98, '^commit', 'write', 'changes something', 'seeded', true),
	(99, 'configure', 'write', 'changes something', 'seeded', true),
	(100, 'connect', 'write', 'changes something', 'seeded', true);
INSERT INTO public.tools_dangerousoperation VALUES
	(101, '^copy', 'write', 'changes something', 'seeded', true),
	(102, 'create', 'write', 'changes something', 'seeded', true),
	(103, 'decline', 'write', 'changes something', 'seeded', true),
	(104, 'deny', 'write', 'changes something', 'seeded', true),
	(105, 'detach', 'write', 'changes something', 'seeded', true),
	(106, 'dismiss', 'write', 'changes something', 'seeded', true),
	(107, 'download', 'write', 'changes something', 'seeded', true),
	(108, 'edit', 'write', 'changes something', 'seeded', true),
	(109, 'enable', 'write', 'changes something', 'seeded', true),
	(110, 'enqueue', 'write', 'changes something', 'seeded', true),
	(111, '^fill', 'write', 'changes something', 'seeded', true),
	(112, '^fork', 'write', 'changes something', 'seeded', true),
	(113, '^generate', 'write', 'changes something', 'seeded', true),
	(114, 'grant', 'write', 'changes something', 'seeded', true),
	(115, 'import', 'write', 'changes something', 'seeded', true),
	(116, 'insert', 'write', 'changes something', 'seeded', true),
	(117, 'install', 'write', 'changes something', 'seeded', true),
	(118, 'invite', 'write', 'changes something', 'seeded', true),
	(119, '^join', 'write', 'changes something', 'seeded', true),
	(120, '^label', 'write', 'changes something', 'seeded', true),
	(121, '^leave', 'write', 'changes something', 'seeded', true),
	(122, '^lock', 'write', 'changes something', 'seeded', true),
	(123, '^make', 'write', 'changes something', 'seeded', true),
	(124, 'manage', 'write', 'changes something', 'seeded', true),
	(125, '^mark', 'write', 'changes something', 'seeded', true),
	(126, 'merge', 'write', 'changes something', 'seeded', true),
	(127, 'mkdir', 'write', 'changes something', 'seeded', true),
	(128, 'modify', 'write', 'changes something', 'seeded', true),
	(129, 'move', 'write', 'changes something', 'seeded', true),
	(130, '^mute', 'write', 'changes something', 'seeded', true),
	(131, '^open', 'write', 'changes something', 'seeded', true),
	(132, '^patch', 'write', 'changes something', 'seeded', true),
	(133, '^pause', 'write', 'changes something', 'seeded', true),
	(134, '^pin', 'write', 'changes something', 'seeded', true),
	(135, '^post', 'write', 'changes something', 'seeded', true),
	(136, '^push', 'write', 'changes something', 'seeded', true),
	(137, '^put', 'write', 'changes something', 'seeded', true),
	(138, 'rebase', 'write', 'changes something', 'seeded', true),
	(139, 'register', 'write', 'changes something', 'seeded', true),
	(140, 'rename', 'write', 'changes something', 'seeded', true),
	(141, 'reopen', 'write', 'changes something', 'seeded', true),
	(142, 'reply', 'write', 'changes something', 'seeded', true),
	(143, 'replace', 'write', 'changes something', 'seeded', true),
	(144, 'reprioritize', 'write', 'changes something', 'seeded', true),
	(145, '^request', 'write', 'changes something', 'seeded', true),
	(146, 'rerun', 'write', 'changes something', 'seeded', true),
	(147, 'reschedule', 'write', 'changes something', 'seeded', true),
	(148, '^reserve', 'write', 'changes something', 'seeded', true),
	(149, 'resolve', 'write', 'changes something', 'seeded', true),
	(150, 'restart', 'write', 'changes something', 'seeded', true),
	(151, 'restore', 'write', 'changes something', 'seeded', true),
	(152, 'resume', 'write', 'changes something', 'seeded', true),
	(153, '^review', 'write', 'changes something', 'seeded', true),
	(154, '^run', 'write', 'changes something', 'seeded', true),
	(155, '^save', 'write', 'changes something', 'seeded', true),
	(156, '^schedule', 'write', 'changes something', 'seeded', true),
	(157, '^send', 'write', 'changes something', 'seeded', true),
	(158, '^set', 'write', 'changes something', 'seeded', true),
	(159, '^share', 'write', 'changes something', 'seeded', true),
	(160, '^stage', 'write', 'changes something', 'seeded', true),
	(161, '^star', 'write', 'changes something', 'seeded', true),
	(162, '^start', 'write', 'changes something', 'seeded', true),
	(163, '^stop', 'write', 'changes something', 'seeded', true),
	(164, '^store', 'write', 'changes something', 'seeded', true),
	(165, 'submit', 'write', 'changes something', 'seeded', true),
	(166, 'subscribe', 'write', 'changes something', 'seeded', true),
	(167, 'subscription', 'write', 'changes something', 'seeded', true),
	(168, '^sync', 'write', 'changes something', 'seeded', true),
	(169, '^tag', 'write', 'changes something', 'seeded', true),
	(170, '^touch', 'write', 'changes something', 'seeded', true),
	(171, 'trigger', 'write', 'changes something', 'seeded', true),
	(172, 'unassign', 'write', 'changes something', 'seeded', true),
	(173, 'unlink', 'write', 'changes something', 'seeded', true),
	(174, 'unlock', 'write', 'changes something', 'seeded', true),
	(175, 'unmute', 'write', 'changes something', 'seeded', true),
	(176, 'unpin', 'write', 'changes something', 'seeded', true),
	(177, 'unresolve', 'write', 'changes something', 'seeded', true),
	(178, 'unstar', 'write', 'changes something', 'seeded', true),
	(179, 'unsubscribe', 'write', 'changes something', 'seeded', true),
	(180, 'update', 'write', 'changes something', 'seeded', true),
	(181, 'upgrade', 'write', 'changes something', 'seeded', true),
	(182, 'upload', 'write', 'changes something', 'seeded', true),
	(183, 'upsert', 'write', 'changes something', 'seeded', true),
	(184, 'write', 'write', 'changes something', 'seeded', true),
	(185, '^activate', 'write', 'changes something', 'seeded', true),
	(186, '^authenticate', 'write', 'changes something', 'seeded', true),
	(187, '^begin', 'write', 'changes something', 'seeded', true),
	(188, '^bid', 'write', 'changes something', 'seeded', true),
	(189, '^block', 'write', 'changes something', 'seeded', true),
	(190, '^burn', 'write', 'changes something', 'seeded', true),
	(191, '^call', 'write', 'changes something', 'seeded', true),
	(192, '^claim', 'write', 'changes something', 'seeded', true),
	(193, 'click', 'write', 'changes something', 'seeded', true),
	(194, '^compact', 'write', 'changes something', 'seeded', true),
	(195, '^cordon', 'write', 'changes something', 'seeded', true),
	(196, '^customize', 'write', 'changes something', 'seeded', true),
	(197, '^deactivate', 'write', 'changes something', 'seeded', true),
	(198, '^demote', 'write', 'changes something', 'seeded', true),
	(199, '^deprovision', 'write', 'changes something', 'seeded', true),
	(200, '^deregister', 'write', 'changes something', 'seeded', true);
INSERT INTO public.tools_dangerousoperation VALUES
	(201, '^discard', 'write', 'changes something', 'seeded', true),
	(202, '^dispatch', 'write', 'changes something', 'seeded', true),
	(203, '^donate', 'write', 'changes something', 'seeded', true),
	(204, '^drag', 'write', 'changes something', 'seeded', true),
	(205, '^drain', 'write', 'changes something', 'seeded', true),
	(206, '^draw', 'write', 'changes something', 'seeded', true),
	(207, '^emit', 'write', 'changes something', 'seeded', true),
	(208, '^empty', 'write', 'changes something', 'seeded', true),
	(209, '^end', 'write', 'changes something', 'seeded', true),
	(210, '^enroll', 'write', 'changes something', 'seeded', true),
	(211, '^escalate', 'write', 'changes something', 'seeded', true),
	(212, '^evict', 'write', 'changes something', 'seeded', true),
	(213, '^expire', 'write', 'changes something', 'seeded', true),
	(214, '^expunge', 'write', 'changes something', 'seeded', true),
	(215, 'fill', 'write', 'changes something', 'seeded', true),
	(216, '^flush', 'write', 'changes something', 'seeded', true),
	(217, '^follow', 'write', 'changes something', 'seeded', true),
	(218, '^forget', 'write', 'changes something', 'seeded', true),
	(219, '^format', 'write', 'changes something', 'seeded', true),
	(220, '^hover', 'write', 'changes something', 'seeded', true),
	(221, '^impersonate', 'write', 'changes something', 'seeded', true),
	(222, '^init', 'write', 'changes something', 'seeded', true),
	(223, '^initialize', 'write', 'changes something', 'seeded', true),
	(224, '^initiate', 'write', 'changes something', 'seeded', true),
	(225, '^inject', 'write', 'changes something', 'seeded', true),
	(226, '^invalidate', 'write', 'changes something', 'seeded', true),
	(227, '^isolate', 'write', 'changes something', 'seeded', true),
	(228, '^kick', 'write', 'changes something', 'seeded', true),
	(229, '^launch', 'write', 'changes something', 'seeded', true),
	(230, '^like', 'write', 'changes something', 'seeded', true),
	(231, '^login', 'write', 'changes something', 'seeded', true),
	(232, '^logout', 'write', 'changes something', 'seeded', true),
	(233, '^migrate', 'write', 'changes something', 'seeded', true),
	(234, '^mint', 'write', 'changes something', 'seeded', true),
	(235, 'navigate', 'write', 'changes something', 'seeded', true),
	(236, '^new', 'write', 'changes something', 'seeded', true),
	(237, '^notify', 'write', 'changes something', 'seeded', true),
	(238, '^nuke', 'write', 'changes something', 'seeded', true),
	(239, '^obliterate', 'write', 'changes something', 'seeded', true),
	(240, '^optimize', 'write', 'changes something', 'seeded', true),
	(241, '^populate', 'write', 'changes something', 'seeded', true),
	(242, '^press', 'write', 'changes something', 'seeded', true),
	(243, '^promote', 'write', 'changes something', 'seeded', true),
	(244, '^protect', 'write', 'changes something', 'seeded', true),
	(245, '^provision', 'write', 'changes something', 'seeded', true),
	(246, '^prune', 'write', 'changes something', 'seeded', true),
	(247, '^quarantine', 'write', 'changes something', 'seeded', true),
	(248, '^react', 'write', 'changes something', 'seeded', true),
	(249, '^renew', 'write', 'changes something', 'seeded', true),
	(250, 'renewal', 'write', 'changes something', 'seeded', true),
	(251, '^rewrite', 'write', 'changes something', 'seeded', true),
	(252, '^rotate', 'write', 'changes something', 'seeded', true),
	(253, '^scale', 'write', 'changes something', 'seeded', true),
	(254, '^select', 'write', 'changes something', 'seeded', true),
	(255, '^sell', 'write', 'changes something', 'seeded', true),
	(256, '^sign', 'write', 'changes something', 'seeded', true),
	(257, '^spawn', 'write', 'changes something', 'seeded', true),
	(258, '^stake', 'write', 'changes something', 'seeded', true),
	(259, '^suspend', 'write', 'changes something', 'seeded', true),
	(260, '^swap', 'write', 'changes something', 'seeded', true),
	(261, '^switch', 'write', 'changes something', 'seeded', true),
	(262, '^taint', 'write', 'changes something', 'seeded', true),
	(263, '^trade', 'write', 'changes something', 'seeded', true),
	(264, '^type', 'write', 'changes something', 'seeded', true),
	(265, '^unblock', 'write', 'changes something', 'seeded', true),
	(266, '^unfollow', 'write', 'changes something', 'seeded', true),
	(267, '^unprotect', 'write', 'changes something', 'seeded', true),
	(268, '^unregister', 'write', 'changes something', 'seeded', true),
	(269, '^unstake', 'write', 'changes something', 'seeded', true),
	(270, '^vacuum', 'write', 'changes something', 'seeded', true),
	(271, '^vote', 'write', 'changes something', 'seeded', true),
	(272, '^wire', 'write', 'changes something', 'seeded', true),
	(273, 'go back', 'write', 'changes something', 'seeded', true),
	(274, 'go forward', 'write', 'changes something', 'seeded', true),
	(275, 'press key', 'write', 'changes something', 'seeded', true),
	(276, 'give feedback', 'write', 'changes something', 'seeded', true);
INSERT INTO public.tools_server VALUES
	(1, 'counting', 'stdio', '${FOREGATE_TEST_PYTHON}', '["-I", "-S", "${FOREGATE_TEST_SERVERS}/counting.py", "${FOREGATE_TEST_LEDGER}"]', 'gAAAAABrCzmZCFuF2GkB60NGR7yAsjBInQpdXZCzWEjIZlQIgMKTxA-b1DCSqzehoEX37QjYX2C-KkZMOcEMwrIGhhdGQ19T7aTBYj30faZGbr05_1iIjL1ZP6M8E5IMkKX88xTsQ6t8', '', '{}', '/home/of/the/dump/servers.json', '', '', true, false, 0.000000, NULL, NULL, '2026-07-28', '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:54.100814+00', '', NULL, '2026-11-28 20:29:13.348219+00', '2026-11-28 20:29:13.348251+00', NULL, false, 'none', '', NULL, '', '', '', false, 'shared', '', '["tools"]', '', '[]');
INSERT INTO public.tools_serverdiscovery VALUES
	(1, '2026-11-28 20:29:13.348251+00', NULL, NULL, '2026-11-28 20:29:32.081794+00', 0, NULL, NULL, '', 1);
INSERT INTO public.tools_team VALUES
	(1, 'admin', '2026-11-28 20:29:13.295464+00', 'dangerous', false, 1);
INSERT INTO public.tools_tool VALUES
	(1, 'count', 'active', true, '', '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:29.429676+00', NULL, 1, 1, 1, false, '', NULL, '[]'),
	(2, 'count_once', 'active', true, '', '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:29.429676+00', NULL, 1, 2, 2, false, '', NULL, '[]'),
	(3, 'die', 'active', true, '', '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:29.429676+00', NULL, 1, 5, 5, false, '', NULL, '[]'),
	(4, 'fail', 'active', true, '', '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:29.429676+00', NULL, 1, 4, 4, false, '', NULL, '[]'),
	(5, 'look', 'active', true, '', '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:29.429676+00', NULL, 1, 3, 3, false, '', NULL, '[]');
INSERT INTO public.tools_tooldefinition VALUES
	(1, '20ac7884d1e542118e739b50a9e73f474727655704d65f09f17b28e4d37e270c', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', 'd1d681aa836ac5713a5a72fe823298028a67208598da35b7a05fb24eda7af512', '', 'Count a name: each call counts it once more.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": false, "destructiveHint": false}', 62, '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:29.429676+00', NULL, 1, '[]'),
	(2, 'b530816ea910513b1f10f846cbbba56ef89bdb7980b08461bd9eb7cd2c69746d', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', '70b0f7d7f3461d07671e677ce8765f1b20d1d58aa5c3ed9962f3965a63e64bae', '', 'Set the count of a name, as often as you like.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": false, "idempotentHint": true, "destructiveHint": false}', 65, '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:29.429676+00', NULL, 2, '[]'),
	(3, '45f894ba102ff4e8d97d9102c25e59f5e09aa77aa0be9c4987011675b5427c78', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', '2e3d870a76e1c973e2c472d92bcff3cfca171247dc0320bf05c01e040a4e2915', '', 'Look at a name, without changing anything.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": true}', 60, '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:29.429676+00', NULL, 5, '[]'),
	(4, '9eecb9f512b629e769588f6ccab5713d7a78dc09cf3d9049b207d9cc65675189', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', '8d6bbcef8bc250ae9a5701eb6686a800b454d37f0bae623b9481578af6c1efdb', '', 'Count a name, then report a failure.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": true}', 60, '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:29.429676+00', NULL, 4, '[]'),
	(5, '937ad25a445f5c8e0f23e57dca65dd4512b30a8145261a2e1e569ed4c11d8e1b', '62f78487fe53a1638020d82e8083a7001f5902a9c4f45035d5f2635c8c853a49', 'da731755cc548088c02f5c96c1533df05a51bfb4ddc4039d6c92b3ebeb240160', '', 'Count a name, then end the server without an answer.', '{"type": "object", "required": ["name"], "properties": {"gate": {"type": "string"}, "name": {"type": "string"}, "after": {}, "delay_ms": {"type": "number", "minimum": 0}}}', NULL, '{"readOnlyHint": false, "destructiveHint": false}', 63, '2026-11-28 20:29:29.429676+00', '2026-11-28 20:29:29.429676+00', NULL, 3, '[]');
INSERT INTO public.tools_toolposting VALUES
	(1, 'answer', 1, false, 3),
	(2, 'anyth', 1, false, 5),
	(3, 'call', 1, false, 1),
	(4, 'chang', 1, false, 5),
	(5, 'count', 4.5, true, 1),
	(6, 'count', 3.5, true, 2),
	(7, 'count', 1.5, false, 3),
	(8, 'count', 1.5, false, 4),
	(9, 'count', 0.5, false, 5),
	(10, 'delay', 0.5, false, 1),
	(11, 'delay', 0.5, false, 2),
	(12, 'delay', 0.5, false, 3),
	(13, 'delay', 0.5, false, 4),
	(14, 'delay', 0.5, false, 5),
	(15, 'die', 2, true, 3),
	(16, 'end', 1, false, 3),
	(17, 'fail', 2, true, 4),
	(18, 'failur', 1, false, 4),
	(19, 'gate', 0.5, false, 1),
	(20, 'gate', 0.5, false, 2),
	(21, 'gate', 0.5, false, 3),
	(22, 'gate', 0.5, false, 4),
	(23, 'gate', 0.5, false, 5),
	(24, 'like', 1, false, 2),
	(25, 'look', 3, true, 5),
	(26, 'ms', 0.5, false, 1),
	(27, 'ms', 0.5, false, 2),
	(28, 'ms', 0.5, false, 3),
	(29, 'ms', 0.5, false, 4),
	(30, 'ms', 0.5, false, 5),
	(31, 'name', 1.5, false, 1),
	(32, 'name', 1.5, false, 2),
	(33, 'name', 1.5, false, 3),
	(34, 'name', 1.5, false, 4),
	(35, 'name', 1.5, false, 5),
	(36, 'often', 1, false, 2),
	(37, 'report', 1, false, 4),
	(38, 'server', 1, false, 3),
	(39, 'set', 1, false, 2),
	(40, 'without', 1, false, 3),
	(41, 'without', 1, false, 5);
INSERT INTO public.tools_tooltext VALUES
	(1, '4d49bcb1ea19c15cb01be7beaecafb1a', 8.5),
	(2, 'fc4623587a6772f2018d005d2185462f', 9.5),
	(5, 'b9b5bcf7ecb417653bc3fd44650b5e52', 9.5),
	(4, 'ab3dcdd0b9c8cff015c9cf8c30426a3c', 8.5),
	(3, '3a0d89f1ef166464aa87ecd3bac447fa', 10.5);
SELECT pg_catalog.setval('public.account_emailaddress_id_seq', 1, false);
SELECT pg_catalog.setval('public.account_emailconfirmation_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_group_id_seq', 4, true);
SELECT pg_catalog.setval('public.auth_group_permissions_id_seq', 58, true);
SELECT pg_catalog.setval('public.auth_permission_id_seq', 312, true);
SELECT pg_catalog.setval('public.auth_user_groups_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_user_id_seq', 1, true);
SELECT pg_catalog.setval('public.auth_user_user_permissions_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accessattempt_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accessfailurelog_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accesslog_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_admin_log_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_content_type_id_seq', 78, true);
SELECT pg_catalog.setval('public.django_migrations_id_seq', 126, true);
SELECT pg_catalog.setval('public.execution_executionevent_id_seq', 7, true);
SELECT pg_catalog.setval('public.execution_payload_id_seq', 3, true);
SELECT pg_catalog.setval('public.execution_runcommand_id_seq', 1, false);
SELECT pg_catalog.setval('public.execution_speculationagreement_id_seq', 1, false);
SELECT pg_catalog.setval('public.execution_speculationbudget_id_seq', 1, false);
SELECT pg_catalog.setval('public.execution_speculationgrant_id_seq', 1, false);
SELECT pg_catalog.setval('public.execution_taskrun_id_seq', 2, true);
SELECT pg_catalog.setval('public.gateway_project_apitoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.gateway_project_auditentry_id_seq', 2, true);
SELECT pg_catalog.setval('public.gateway_project_idempotentrequest_id_seq', 1, false);
SELECT pg_catalog.setval('public.gateway_project_metrictotal_id_seq', 18, true);
SELECT pg_catalog.setval('public.gateway_project_oauthclient_id_seq', 1, false);
SELECT pg_catalog.setval('public.gateway_project_onetimepassword_id_seq', 1, false);
SELECT pg_catalog.setval('public.gateway_project_webhook_id_seq', 1, false);
SELECT pg_catalog.setval('public.gateway_project_webhookdelivery_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_fittedmodel_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_graphsnapshot_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_learnedbinding_id_seq', 5, true);
SELECT pg_catalog.setval('public.graph_outputshape_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_patternembedding_id_seq', 1, true);
SELECT pg_catalog.setval('public.graph_patternrun_id_seq', 1, true);
SELECT pg_catalog.setval('public.graph_relationevidence_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_tooldependency_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_toolusage_id_seq', 1, false);
SELECT pg_catalog.setval('public.graph_workflowpattern_id_seq', 1, true);
SELECT pg_catalog.setval('public.learning_adaptivethreshold_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_contribution_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_episodicevent_id_seq', 2, true);
SELECT pg_catalog.setval('public.learning_intentvector_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_predictiontotal_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_thresholdchange_id_seq', 1, false);
SELECT pg_catalog.setval('public.learning_toolexperience_id_seq', 1, false);
SELECT pg_catalog.setval('public.mfa_authenticator_id_seq', 1, false);
SELECT pg_catalog.setval('public.oauth2_provider_accesstoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.oauth2_provider_devicegrant_id_seq', 1, false);
SELECT pg_catalog.setval('public.oauth2_provider_grant_id_seq', 1, false);
SELECT pg_catalog.setval('public.oauth2_provider_idtoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.oauth2_provider_refreshtoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.socialaccount_socialaccount_id_seq', 1, false);
SELECT pg_catalog.setval('public.socialaccount_socialapp_id_seq', 1, false);
SELECT pg_catalog.setval('public.socialaccount_socialtoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_category_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_dangerousoperation_id_seq', 389, true);
SELECT pg_catalog.setval('public.tools_membership_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_server_id_seq', 1, true);
SELECT pg_catalog.setval('public.tools_serverdiscovery_id_seq', 1, true);
SELECT pg_catalog.setval('public.tools_serveritems_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_serversignin_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_signinattempt_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_team_id_seq', 1, true);
SELECT pg_catalog.setval('public.tools_tool_id_seq', 5, true);
SELECT pg_catalog.setval('public.tools_tooldefinition_id_seq', 5, true);
SELECT pg_catalog.setval('public.tools_toolembedding_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_toolgroup_id_seq', 1, false);
SELECT pg_catalog.setval('public.tools_toolposting_id_seq', 41, true);
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_user_id_email_987c8728_uniq UNIQUE (user_id, email);
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirmation_key_key UNIQUE (key);
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirmation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculationagreement
    ADD CONSTRAINT agreement_once UNIQUE NULLS NOT DISTINCT (tool_id, team_id, definition_hash, launch_hash);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_name_key UNIQUE (name);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_user_id_group_id_94350c0c_uniq UNIQUE (user_id, group_id);
ALTER TABLE ONLY public.auth_user
    ADD CONSTRAINT auth_user_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_user_id_permission_id_14a6b632_uniq UNIQUE (user_id, permission_id);
ALTER TABLE ONLY public.auth_user
    ADD CONSTRAINT auth_user_username_key UNIQUE (username);
ALTER TABLE ONLY public.axes_accessattempt
    ADD CONSTRAINT axes_accessattempt_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.axes_accessattempt
    ADD CONSTRAINT axes_accessattempt_username_ip_address_user_agent_8ea22282_uniq UNIQUE (username, ip_address, user_agent);
ALTER TABLE ONLY public.axes_accessattemptexpiration
    ADD CONSTRAINT axes_accessattemptexpiration_pkey PRIMARY KEY (access_attempt_id);
ALTER TABLE ONLY public.axes_accessfailurelog
    ADD CONSTRAINT axes_accessfailurelog_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.axes_accesslog
    ADD CONSTRAINT axes_accesslog_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_learnedbinding
    ADD CONSTRAINT binding_once_per_team UNIQUE NULLS NOT DISTINCT (team_id, tool_id, parameter, kind, key);
ALTER TABLE ONLY public.learning_contribution
    ADD CONSTRAINT contribution_once_per_tools UNIQUE (team_id, person, tools);
ALTER TABLE ONLY public.tools_tooldefinition
    ADD CONSTRAINT definition_once_per_tool UNIQUE (tool_id, hash);
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_session
    ADD CONSTRAINT django_session_pkey PRIMARY KEY (session_key);
ALTER TABLE ONLY public.tools_toolembedding
    ADD CONSTRAINT embedding_once UNIQUE (model, tool_id, content_hash);
ALTER TABLE ONLY public.execution_executionevent
    ADD CONSTRAINT event_once UNIQUE (run_id, seq);
ALTER TABLE ONLY public.graph_relationevidence
    ADD CONSTRAINT evidence_once_per_source UNIQUE NULLS NOT DISTINCT (relation_id, source, team_id);
ALTER TABLE ONLY public.execution_approval
    ADD CONSTRAINT execution_approval_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_budgetreservation
    ADD CONSTRAINT execution_budgetreservation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_executionevent
    ADD CONSTRAINT execution_executionevent_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_payload
    ADD CONSTRAINT execution_payload_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_runcommand
    ADD CONSTRAINT execution_runcommand_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculation
    ADD CONSTRAINT execution_speculation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculationagreement
    ADD CONSTRAINT execution_speculationagreement_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculationbudget
    ADD CONSTRAINT execution_speculationbudget_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculationbudget
    ADD CONSTRAINT execution_speculationbudget_server_id_key UNIQUE (server_id);
ALTER TABLE ONLY public.execution_speculationcontrol
    ADD CONSTRAINT execution_speculationcontrol_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_speculationgrant
    ADD CONSTRAINT execution_speculationgrant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_taskrun
    ADD CONSTRAINT execution_taskrun_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_workflowexecution
    ADD CONSTRAINT execution_workflowexecution_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_toolexperience
    ADD CONSTRAINT experience_once_per_team UNIQUE NULLS NOT DISTINCT (tool_id, team_id);
ALTER TABLE ONLY public.graph_fittedmodel
    ADD CONSTRAINT fitted_once_per_team UNIQUE NULLS NOT DISTINCT (team_id, embedding_model);
ALTER TABLE ONLY public.gateway_project_apitoken
    ADD CONSTRAINT gateway_project_apitoken_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.gateway_project_apitoken
    ADD CONSTRAINT gateway_project_apitoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_auditentry
    ADD CONSTRAINT gateway_project_auditentry_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_idempotentrequest
    ADD CONSTRAINT gateway_project_idempotentrequest_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.gateway_project_idempotentrequest
    ADD CONSTRAINT gateway_project_idempotentrequest_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_metrictotal
    ADD CONSTRAINT gateway_project_metrictotal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_oauthclient
    ADD CONSTRAINT gateway_project_oauthclient_client_id_key UNIQUE (client_id);
ALTER TABLE ONLY public.gateway_project_oauthclient
    ADD CONSTRAINT gateway_project_oauthclient_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_onetimepassword
    ADD CONSTRAINT gateway_project_onetimepassword_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.gateway_project_onetimepassword
    ADD CONSTRAINT gateway_project_onetimepassword_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_retiredusername
    ADD CONSTRAINT gateway_project_retiredusername_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY public.gateway_project_webhook
    ADD CONSTRAINT gateway_project_webhook_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gateway_project_webhookdelivery
    ADD CONSTRAINT gateway_project_webhookdelivery_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_fittedmodel
    ADD CONSTRAINT graph_fittedmodel_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_graphsnapshot
    ADD CONSTRAINT graph_graphsnapshot_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_graphstate
    ADD CONSTRAINT graph_graphstate_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_learnedbinding
    ADD CONSTRAINT graph_learnedbinding_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_outputshape
    ADD CONSTRAINT graph_outputshape_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_patternembedding
    ADD CONSTRAINT graph_patternembedding_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_patternrun
    ADD CONSTRAINT graph_patternrun_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_relationevidence
    ADD CONSTRAINT graph_relationevidence_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_tooldependency
    ADD CONSTRAINT graph_tooldependency_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_toolmetric
    ADD CONSTRAINT graph_toolmetric_pkey PRIMARY KEY (tool_id);
ALTER TABLE ONLY public.graph_toolusage
    ADD CONSTRAINT graph_toolusage_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_workflowpattern
    ADD CONSTRAINT graph_workflowpattern_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_intentvector
    ADD CONSTRAINT intent_embedded_once UNIQUE NULLS NOT DISTINCT (team_id, model, intent_hash);
ALTER TABLE ONLY public.learning_adaptivethreshold
    ADD CONSTRAINT learning_adaptivethreshold_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_contribution
    ADD CONSTRAINT learning_contribution_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_episodicevent
    ADD CONSTRAINT learning_episodicevent_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_eventspool
    ADD CONSTRAINT learning_eventspool_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_intentvector
    ADD CONSTRAINT learning_intentvector_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_predictiontotal
    ADD CONSTRAINT learning_predictiontotal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_thresholdchange
    ADD CONSTRAINT learning_thresholdchange_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_toolexperience
    ADD CONSTRAINT learning_toolexperience_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.learning_unlearnedepisode
    ADD CONSTRAINT learning_unlearnedepisode_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_membership
    ADD CONSTRAINT membership_once UNIQUE (user_id, team_id);
ALTER TABLE ONLY public.gateway_project_metrictotal
    ADD CONSTRAINT metric_sample_once UNIQUE (name, labels);
ALTER TABLE ONLY public.mfa_authenticator
    ADD CONSTRAINT mfa_authenticator_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_id_token_id_key UNIQUE (id_token_id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_source_refresh_token_id_key UNIQUE (source_refresh_token_id);
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_token_checksum_85319a26_uniq UNIQUE (token_checksum);
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_unique_device_code UNIQUE (device_code);
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_grant_code_key UNIQUE (code);
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_grant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idtoken_jti_key UNIQUE (jti);
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refresht_token_checksum_revoked_46c81d1d_uniq UNIQUE (token_checksum, revoked);
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refreshtoken_access_token_id_key UNIQUE (access_token_id);
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refreshtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.graph_outputshape
    ADD CONSTRAINT output_shape_once_per_team UNIQUE NULLS NOT DISTINCT (tool_id, team_id);
ALTER TABLE ONLY public.graph_patternembedding
    ADD CONSTRAINT pattern_embedded_once UNIQUE (model, pattern_id);
ALTER TABLE ONLY public.graph_workflowpattern
    ADD CONSTRAINT pattern_once_per_team UNIQUE NULLS NOT DISTINCT (team_id, intent_hash, workflow_hash);
ALTER TABLE ONLY public.execution_payload
    ADD CONSTRAINT payload_once_per_place UNIQUE (run_id, kind, task, item);
ALTER TABLE ONLY public.learning_predictiontotal
    ADD CONSTRAINT prediction_total_once UNIQUE NULLS NOT DISTINCT (team_id, tool_id, form, shadow, day, decile);
ALTER TABLE ONLY public.graph_tooldependency
    ADD CONSTRAINT relation_once UNIQUE (source_id, target_id, kind);
ALTER TABLE ONLY public.graph_patternrun
    ADD CONSTRAINT run_once_per_team UNIQUE NULLS NOT DISTINCT (team_id, key);
ALTER TABLE ONLY public.tools_serveritems
    ADD CONSTRAINT server_items_once UNIQUE (server_id, kind);
ALTER TABLE ONLY public.tools_serversignin
    ADD CONSTRAINT sign_in_once UNIQUE NULLS NOT DISTINCT (server_id, user_id);
ALTER TABLE ONLY public.socialaccount_socialaccount
    ADD CONSTRAINT socialaccount_socialaccount_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.socialaccount_socialaccount
    ADD CONSTRAINT socialaccount_socialaccount_provider_uid_fc810c6e_uniq UNIQUE (provider, uid);
ALTER TABLE ONLY public.socialaccount_socialapp
    ADD CONSTRAINT socialaccount_socialapp_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.socialaccount_socialtoken
    ADD CONSTRAINT socialaccount_socialtoken_app_id_account_id_fca4e0ac_uniq UNIQUE (app_id, account_id);
ALTER TABLE ONLY public.socialaccount_socialtoken
    ADD CONSTRAINT socialaccount_socialtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.execution_taskrun
    ADD CONSTRAINT task_once_per_run UNIQUE (run_id, task, item);
ALTER TABLE ONLY public.learning_adaptivethreshold
    ADD CONSTRAINT threshold_once_per_context UNIQUE NULLS NOT DISTINCT (team_id, domain_hash, context_hash);
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tool_once_per_server UNIQUE (server_id, name);
ALTER TABLE ONLY public.tools_category
    ADD CONSTRAINT tools_category_name_key UNIQUE (name);
ALTER TABLE ONLY public.tools_category
    ADD CONSTRAINT tools_category_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_dangerousoperation
    ADD CONSTRAINT tools_dangerousoperation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_membership
    ADD CONSTRAINT tools_membership_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_server
    ADD CONSTRAINT tools_server_name_key UNIQUE (name);
ALTER TABLE ONLY public.tools_server
    ADD CONSTRAINT tools_server_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_serverdiscovery
    ADD CONSTRAINT tools_serverdiscovery_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_serverdiscovery
    ADD CONSTRAINT tools_serverdiscovery_server_id_key UNIQUE (server_id);
ALTER TABLE ONLY public.tools_serveritems
    ADD CONSTRAINT tools_serveritems_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_serversignin
    ADD CONSTRAINT tools_serversignin_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_signinattempt
    ADD CONSTRAINT tools_signinattempt_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_signinattempt
    ADD CONSTRAINT tools_signinattempt_state_digest_key UNIQUE (state_digest);
ALTER TABLE ONLY public.tools_team
    ADD CONSTRAINT tools_team_person_id_key UNIQUE (person_id);
ALTER TABLE ONLY public.tools_team
    ADD CONSTRAINT tools_team_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tools_tool_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_tooldefinition
    ADD CONSTRAINT tools_tooldefinition_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_toolembedding
    ADD CONSTRAINT tools_toolembedding_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_toolgroup
    ADD CONSTRAINT tools_toolgroup_name_key UNIQUE (name);
ALTER TABLE ONLY public.tools_toolgroup
    ADD CONSTRAINT tools_toolgroup_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_toolposting
    ADD CONSTRAINT tools_toolposting_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tools_tooltext
    ADD CONSTRAINT tools_tooltext_pkey PRIMARY KEY (tool_id);
ALTER TABLE ONLY public.graph_toolusage
    ADD CONSTRAINT usage_once_per_team UNIQUE NULLS NOT DISTINCT (tool_id, team_id);
ALTER TABLE ONLY public.gateway_project_webhook
    ADD CONSTRAINT webhook_name_in_team UNIQUE NULLS NOT DISTINCT (team_id, name);
CREATE INDEX account_emailaddress_email_03be32b2 ON public.account_emailaddress USING btree (email);
CREATE INDEX account_emailaddress_email_03be32b2_like ON public.account_emailaddress USING btree (email varchar_pattern_ops);
CREATE INDEX account_emailaddress_user_id_2c513194 ON public.account_emailaddress USING btree (user_id);
CREATE INDEX account_emailconfirmation_email_address_id_5b7f8c58 ON public.account_emailconfirmation USING btree (email_address_id);
CREATE INDEX account_emailconfirmation_key_f43612bd_like ON public.account_emailconfirmation USING btree (key varchar_pattern_ops);
CREATE UNIQUE INDEX approval_open_once ON public.execution_approval USING btree (run_id, task, item) WHERE ((status)::text = ANY ((ARRAY['pending'::character varying, 'approved'::character varying])::text[]));
CREATE INDEX approval_pending ON public.execution_approval USING btree (expires_at) WHERE ((status)::text = 'pending'::text);
CREATE INDEX audit_by_action ON public.gateway_project_auditentry USING btree (action, at DESC);
CREATE INDEX auth_group_name_a6ea08ec_like ON public.auth_group USING btree (name varchar_pattern_ops);
CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON public.auth_group_permissions USING btree (group_id);
CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON public.auth_group_permissions USING btree (permission_id);
CREATE INDEX auth_permission_content_type_id_2f476e4b ON public.auth_permission USING btree (content_type_id);
CREATE INDEX auth_user_groups_group_id_97559544 ON public.auth_user_groups USING btree (group_id);
CREATE INDEX auth_user_groups_user_id_6a12ed8b ON public.auth_user_groups USING btree (user_id);
CREATE INDEX auth_user_user_permissions_permission_id_1fbb5f2c ON public.auth_user_user_permissions USING btree (permission_id);
CREATE INDEX auth_user_user_permissions_user_id_a95ead1b ON public.auth_user_user_permissions USING btree (user_id);
CREATE INDEX auth_user_username_6821ab7c_like ON public.auth_user USING btree (username varchar_pattern_ops);
CREATE INDEX axes_accessattempt_ip_address_10922d9c ON public.axes_accessattempt USING btree (ip_address);
CREATE INDEX axes_accessattempt_user_agent_ad89678b ON public.axes_accessattempt USING btree (user_agent);
CREATE INDEX axes_accessattempt_user_agent_ad89678b_like ON public.axes_accessattempt USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accessattempt_username_3f2d4ca0 ON public.axes_accessattempt USING btree (username);
CREATE INDEX axes_accessattempt_username_3f2d4ca0_like ON public.axes_accessattempt USING btree (username varchar_pattern_ops);
CREATE INDEX axes_accessfailurelog_ip_address_2e9f5a7f ON public.axes_accessfailurelog USING btree (ip_address);
CREATE INDEX axes_accessfailurelog_user_agent_ea145dda ON public.axes_accessfailurelog USING btree (user_agent);
CREATE INDEX axes_accessfailurelog_user_agent_ea145dda_like ON public.axes_accessfailurelog USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accessfailurelog_username_a8b7e8a4 ON public.axes_accessfailurelog USING btree (username);
CREATE INDEX axes_accessfailurelog_username_a8b7e8a4_like ON public.axes_accessfailurelog USING btree (username varchar_pattern_ops);
CREATE INDEX axes_accesslog_ip_address_86b417e5 ON public.axes_accesslog USING btree (ip_address);
CREATE INDEX axes_accesslog_user_agent_0e659004 ON public.axes_accesslog USING btree (user_agent);
CREATE INDEX axes_accesslog_user_agent_0e659004_like ON public.axes_accesslog USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accesslog_username_df93064b ON public.axes_accesslog USING btree (username);
CREATE INDEX axes_accesslog_username_df93064b_like ON public.axes_accesslog USING btree (username varchar_pattern_ops);
CREATE INDEX command_open ON public.execution_runcommand USING btree (run_id, id) WHERE (applied_at IS NULL);
CREATE UNIQUE INDEX dangerous_pattern_once ON public.tools_dangerousoperation USING btree (upper((pattern)::text));
CREATE INDEX django_admin_log_content_type_id_c4bce8eb ON public.django_admin_log USING btree (content_type_id);
CREATE INDEX django_admin_log_user_id_c564eba6 ON public.django_admin_log USING btree (user_id);
CREATE INDEX django_session_expire_date_a5c62663 ON public.django_session USING btree (expire_date);
CREATE INDEX django_session_session_key_c0390e0f_like ON public.django_session USING btree (session_key varchar_pattern_ops);
CREATE INDEX event_by_context ON public.learning_episodicevent USING btree (COALESCE(team_id, (0)::bigint), context_hash, at DESC) WHERE (context_hash IS NOT NULL);
CREATE INDEX event_by_intent ON public.learning_episodicevent USING btree (intent_hash) WHERE (intent_hash IS NOT NULL);
CREATE INDEX event_by_prediction ON public.learning_episodicevent USING btree (prediction) WHERE (prediction IS NOT NULL);
CREATE INDEX event_by_team ON public.learning_episodicevent USING btree (COALESCE(team_id, (0)::bigint), at DESC);
CREATE INDEX event_of_workflow_outcome ON public.learning_episodicevent USING btree (at) WHERE ((context_hash IS NOT NULL) AND (kind = 5) AND (tool IS NULL));
CREATE INDEX execution_approval_run_id_819785e0 ON public.execution_approval USING btree (run_id);
CREATE INDEX execution_budgetreservation_server_id_47fd3f4e ON public.execution_budgetreservation USING btree (server_id);
CREATE INDEX execution_budgetreservation_team_id_0762d31c ON public.execution_budgetreservation USING btree (team_id);
CREATE INDEX execution_newest ON public.execution_workflowexecution USING btree (created_at DESC);
CREATE INDEX execution_runcommand_run_id_a887f528 ON public.execution_runcommand USING btree (run_id);
CREATE INDEX execution_speculation_team_id_07858ce3 ON public.execution_speculation USING btree (team_id);
CREATE INDEX execution_speculationagreement_team_id_2b8844a7 ON public.execution_speculationagreement USING btree (team_id);
CREATE INDEX execution_speculationagreement_tool_id_098c96c2 ON public.execution_speculationagreement USING btree (tool_id);
CREATE INDEX execution_speculationgrant_team_id_94308ccc ON public.execution_speculationgrant USING btree (team_id);
CREATE INDEX execution_speculationgrant_tool_id_bd02f077 ON public.execution_speculationgrant USING btree (tool_id);
CREATE INDEX execution_workflowexecution_team_id_1770d3a3 ON public.execution_workflowexecution USING btree (team_id);
CREATE INDEX gateway_project_apitoken_digest_3026d090_like ON public.gateway_project_apitoken USING btree (digest varchar_pattern_ops);
CREATE INDEX gateway_project_apitoken_team_id_72dbb670 ON public.gateway_project_apitoken USING btree (team_id);
CREATE INDEX gateway_project_apitoken_tool_group_id_3b907a88 ON public.gateway_project_apitoken USING btree (tool_group_id);
CREATE INDEX gateway_project_apitoken_user_id_095a4f2e ON public.gateway_project_apitoken USING btree (user_id);
CREATE INDEX gateway_project_auditentry_at_dd582f59 ON public.gateway_project_auditentry USING btree (at);
CREATE INDEX gateway_project_auditentry_team_id_0d5ad614 ON public.gateway_project_auditentry USING btree (team_id);
CREATE INDEX gateway_project_auditentry_user_id_cfc5068a ON public.gateway_project_auditentry USING btree (user_id);
CREATE INDEX gateway_project_idempotentrequest_created_at_1f35cc55 ON public.gateway_project_idempotentrequest USING btree (created_at);
CREATE INDEX gateway_project_idempotentrequest_digest_0c5af682_like ON public.gateway_project_idempotentrequest USING btree (digest varchar_pattern_ops);
CREATE INDEX gateway_project_oauthclient_client_id_f1065e9c_like ON public.gateway_project_oauthclient USING btree (client_id varchar_pattern_ops);
CREATE INDEX gateway_project_oauthclient_client_secret_0e35dcb4 ON public.gateway_project_oauthclient USING btree (client_secret);
CREATE INDEX gateway_project_oauthclient_client_secret_0e35dcb4_like ON public.gateway_project_oauthclient USING btree (client_secret varchar_pattern_ops);
CREATE INDEX gateway_project_oauthclient_user_id_b3d2e9e3 ON public.gateway_project_oauthclient USING btree (user_id);
CREATE INDEX gateway_project_onetimepassword_digest_9ef16990_like ON public.gateway_project_onetimepassword USING btree (digest varchar_pattern_ops);
CREATE INDEX gateway_project_onetimepassword_user_id_d32cebc6 ON public.gateway_project_onetimepassword USING btree (user_id);
CREATE INDEX gateway_project_retiredusername_digest_3009323c_like ON public.gateway_project_retiredusername USING btree (digest varchar_pattern_ops);
CREATE INDEX gateway_project_webhook_team_id_52926bf3 ON public.gateway_project_webhook USING btree (team_id);
CREATE INDEX gateway_project_webhookdelivery_webhook_id_baa23c34 ON public.gateway_project_webhookdelivery USING btree (webhook_id);
CREATE UNIQUE INDEX grant_once_per_tool ON public.execution_speculationgrant USING btree (tool_id, team_id) NULLS NOT DISTINCT WHERE (revoked_at IS NULL);
CREATE INDEX graph_fittedmodel_team_id_86eb112d ON public.graph_fittedmodel USING btree (team_id);
CREATE INDEX graph_graphsnapshot_taken_at_2f6ac5d3 ON public.graph_graphsnapshot USING btree (taken_at);
CREATE INDEX graph_learnedbinding_giver_id_a5ac398d ON public.graph_learnedbinding USING btree (giver_id);
CREATE INDEX graph_learnedbinding_team_id_7f13045a ON public.graph_learnedbinding USING btree (team_id);
CREATE INDEX graph_learnedbinding_tool_id_f1880bc0 ON public.graph_learnedbinding USING btree (tool_id);
CREATE INDEX graph_outputshape_team_id_6fc622bb ON public.graph_outputshape USING btree (team_id);
CREATE INDEX graph_outputshape_tool_id_be380954 ON public.graph_outputshape USING btree (tool_id);
CREATE INDEX graph_patternembedding_pattern_id_33135def ON public.graph_patternembedding USING btree (pattern_id);
CREATE INDEX graph_patternrun_pattern_id_169920cd ON public.graph_patternrun USING btree (pattern_id);
CREATE INDEX graph_patternrun_team_id_5eeaea34 ON public.graph_patternrun USING btree (team_id);
CREATE INDEX graph_relationevidence_relation_id_5ef1ef03 ON public.graph_relationevidence USING btree (relation_id);
CREATE INDEX graph_relationevidence_team_id_cf1524d5 ON public.graph_relationevidence USING btree (team_id);
CREATE INDEX graph_tooldependency_source_id_b759ace5 ON public.graph_tooldependency USING btree (source_id);
CREATE INDEX graph_tooldependency_target_id_a6a99055 ON public.graph_tooldependency USING btree (target_id);
CREATE INDEX graph_toolusage_team_id_4c6bec8e ON public.graph_toolusage USING btree (team_id);
CREATE INDEX graph_toolusage_tool_id_8f4f9f6b ON public.graph_toolusage USING btree (tool_id);
CREATE INDEX graph_workflowpattern_team_id_a2e7f113 ON public.graph_workflowpattern USING btree (team_id);
CREATE INDEX learning_adaptivethreshold_team_id_a9e14ab8 ON public.learning_adaptivethreshold USING btree (team_id);
CREATE INDEX learning_contribution_team_id_bc5ef5b0 ON public.learning_contribution USING btree (team_id);
CREATE INDEX learning_intentvector_team_id_e859fd47 ON public.learning_intentvector USING btree (team_id);
CREATE INDEX learning_predictiontotal_team_id_f4d8cce6 ON public.learning_predictiontotal USING btree (team_id);
CREATE INDEX learning_predictiontotal_tool_id_bc2fd1d1 ON public.learning_predictiontotal USING btree (tool_id);
CREATE INDEX learning_thresholdchange_threshold_id_8519fac3 ON public.learning_thresholdchange USING btree (threshold_id);
CREATE INDEX learning_toolexperience_team_id_97ce8333 ON public.learning_toolexperience USING btree (team_id);
CREATE INDEX learning_toolexperience_tool_id_79c02cc6 ON public.learning_toolexperience USING btree (tool_id);
CREATE INDEX learning_unlearnedepisode_team_id_964a9e2b ON public.learning_unlearnedepisode USING btree (team_id);
CREATE INDEX mfa_authenticator_user_id_0c3a50c0 ON public.mfa_authenticator USING btree (user_id);
CREATE INDEX oauth2_prov_token_f_996e8a_idx ON public.oauth2_provider_refreshtoken USING btree (token_family);
CREATE INDEX oauth2_provider_accesstoken_application_id_b22886e1 ON public.oauth2_provider_accesstoken USING btree (application_id);
CREATE INDEX oauth2_provider_accesstoken_token_checksum_85319a26_like ON public.oauth2_provider_accesstoken USING btree (token_checksum varchar_pattern_ops);
CREATE INDEX oauth2_provider_accesstoken_user_id_6e4c9a65 ON public.oauth2_provider_accesstoken USING btree (user_id);
CREATE INDEX oauth2_provider_devicegrant_client_id_229dd06d ON public.oauth2_provider_devicegrant USING btree (client_id);
CREATE INDEX oauth2_provider_devicegrant_client_id_229dd06d_like ON public.oauth2_provider_devicegrant USING btree (client_id varchar_pattern_ops);
CREATE INDEX oauth2_provider_devicegrant_user_id_1cec5156 ON public.oauth2_provider_devicegrant USING btree (user_id);
CREATE INDEX oauth2_provider_grant_application_id_81923564 ON public.oauth2_provider_grant USING btree (application_id);
CREATE INDEX oauth2_provider_grant_code_49ab4ddf_like ON public.oauth2_provider_grant USING btree (code varchar_pattern_ops);
CREATE INDEX oauth2_provider_grant_user_id_e8f62af8 ON public.oauth2_provider_grant USING btree (user_id);
CREATE INDEX oauth2_provider_idtoken_application_id_08c5ff4f ON public.oauth2_provider_idtoken USING btree (application_id);
CREATE INDEX oauth2_provider_idtoken_user_id_dd512b59 ON public.oauth2_provider_idtoken USING btree (user_id);
CREATE INDEX oauth2_provider_refreshtoken_application_id_2d1c311b ON public.oauth2_provider_refreshtoken USING btree (application_id);
CREATE INDEX oauth2_provider_refreshtoken_user_id_da837fce ON public.oauth2_provider_refreshtoken USING btree (user_id);
CREATE UNIQUE INDEX posting_once ON public.tools_toolposting USING btree (lexeme, tool_id) INCLUDE (frequency, in_name);
CREATE INDEX prediction_total_day ON public.learning_predictiontotal USING btree (day);
CREATE INDEX reservation_of_server ON public.execution_budgetreservation USING btree (server_id, reserved_at DESC);
CREATE INDEX run_newest ON public.graph_patternrun USING btree (team_id, at DESC);
CREATE INDEX run_of_caller ON public.execution_workflowexecution USING btree (team_id, "user", created_at DESC);
CREATE UNIQUE INDEX run_once_per_key ON public.execution_workflowexecution USING btree ("user", team_id, idempotency_key) NULLS NOT DISTINCT WHERE (NOT ((idempotency_key)::text = ''::text));
CREATE INDEX run_unfinished ON public.execution_workflowexecution USING btree ("user", team_id) WHERE ((status)::text = ANY ((ARRAY['queued'::character varying, 'running'::character varying, 'paused'::character varying, 'waiting'::character varying, 'unknown'::character varying])::text[]));
CREATE INDEX run_unlearned ON public.execution_workflowexecution USING btree (ended_at) WHERE ((ended_at IS NOT NULL) AND (learned_at IS NULL));
CREATE UNIQUE INDEX server_unprefixed_one ON public.tools_server USING btree (unprefixed) WHERE unprefixed;
CREATE INDEX socialaccount_socialaccount_user_id_8146e70c ON public.socialaccount_socialaccount USING btree (user_id);
CREATE INDEX socialaccount_socialtoken_account_id_951f210e ON public.socialaccount_socialtoken USING btree (account_id);
CREATE INDEX socialaccount_socialtoken_app_id_636a42d7 ON public.socialaccount_socialtoken USING btree (app_id);
CREATE INDEX speculation_newest ON public.execution_speculation USING btree (created_at DESC);
CREATE INDEX speculation_open ON public.execution_speculation USING btree (due_at) WHERE ((outcome)::text = ''::text);
CREATE INDEX speculation_resolved ON public.execution_speculation USING btree (team_id, resolved_at DESC);
CREATE INDEX speculation_with_content ON public.execution_speculation USING btree (created_at) WHERE (content IS NOT NULL);
CREATE UNIQUE INDEX team_name_once ON public.tools_team USING btree (name) WHERE (person_id IS NULL);
CREATE INDEX threshold_history ON public.learning_thresholdchange USING btree (threshold_id, at DESC);
CREATE INDEX tool_listed ON public.tools_tool USING btree (server_id) WHERE (enabled AND ((state)::text = 'active'::text));
CREATE INDEX tools_category_name_ba5de5e8_like ON public.tools_category USING btree (name varchar_pattern_ops);
CREATE INDEX tools_membership_team_id_8587e77d ON public.tools_membership USING btree (team_id);
CREATE INDEX tools_membership_user_id_f9f9de88 ON public.tools_membership USING btree (user_id);
CREATE INDEX tools_server_name_31982140_like ON public.tools_server USING btree (name varchar_pattern_ops);
CREATE INDEX tools_server_team_id_bcffdeec ON public.tools_server USING btree (team_id);
CREATE INDEX tools_serveritems_server_id_375e3c70 ON public.tools_serveritems USING btree (server_id);
CREATE INDEX tools_serversignin_server_id_85a2829d ON public.tools_serversignin USING btree (server_id);
CREATE INDEX tools_serversignin_user_id_559ef922 ON public.tools_serversignin USING btree (user_id);
CREATE INDEX tools_signinattempt_server_id_8418df4b ON public.tools_signinattempt USING btree (server_id);
CREATE INDEX tools_signinattempt_state_digest_9b575f3b_like ON public.tools_signinattempt USING btree (state_digest varchar_pattern_ops);
CREATE INDEX tools_signinattempt_user_id_3758e23d ON public.tools_signinattempt USING btree (user_id);
CREATE INDEX tools_tool_category_id_75826aee ON public.tools_tool USING btree (category_id);
CREATE INDEX tools_tool_definition_id_ddf8c3c6 ON public.tools_tool USING btree (definition_id);
CREATE INDEX tools_tool_listed_id_1c62c203 ON public.tools_tool USING btree (listed_id);
CREATE INDEX tools_tool_server_id_5b62b139 ON public.tools_tool USING btree (server_id);
CREATE INDEX tools_tooldefinition_approved_by_id_3f053659 ON public.tools_tooldefinition USING btree (approved_by_id);
CREATE INDEX tools_tooldefinition_tool_id_a7e3abf9 ON public.tools_tooldefinition USING btree (tool_id);
CREATE INDEX tools_toolembedding_tool_id_6c78e71c ON public.tools_toolembedding USING btree (tool_id);
CREATE INDEX tools_toolgroup_name_bdde2ea6_like ON public.tools_toolgroup USING btree (name varchar_pattern_ops);
CREATE INDEX tools_toolgroup_team_id_46841269 ON public.tools_toolgroup USING btree (team_id);
CREATE INDEX tools_toolposting_tool_id_41c974a9 ON public.tools_toolposting USING btree (tool_id);
CREATE UNIQUE INDEX unique_authenticator_type ON public.mfa_authenticator USING btree (user_id, type) WHERE ((type)::text = ANY ((ARRAY['totp'::character varying, 'recovery_codes'::character varying])::text[]));
CREATE UNIQUE INDEX unique_primary_email ON public.account_emailaddress USING btree (user_id, "primary") WHERE "primary";
CREATE INDEX webhook_delivery_due ON public.gateway_project_webhookdelivery USING btree (next_attempt_at) WHERE ((status)::text = 'pending'::text);
CREATE INDEX webhook_delivery_ended ON public.gateway_project_webhookdelivery USING btree (ended_at);
CREATE INDEX webhook_delivery_newest ON public.gateway_project_webhookdelivery USING btree (webhook_id, occurred_at DESC);
CREATE INDEX webhook_delivery_waiting ON public.gateway_project_webhookdelivery USING btree (webhook_id) WHERE ((status)::text = 'pending'::text);
CREATE TRIGGER add_private_team AFTER INSERT OR UPDATE OF username ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.tools_add_private_team();
CREATE TRIGGER execution_account_deleted AFTER DELETE ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.execution_follow_account();
CREATE TRIGGER execution_account_renamed AFTER UPDATE OF username ON public.auth_user FOR EACH ROW WHEN (((old.username)::text <> (new.username)::text)) EXECUTE FUNCTION public.execution_follow_account();
CREATE TRIGGER gateway_user_deleted AFTER DELETE ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.gateway_retire_user_name();
CREATE TRIGGER gateway_user_named BEFORE INSERT OR UPDATE OF username ON public.auth_user FOR EACH ROW EXECUTE FUNCTION public.gateway_refuse_user_name();
CREATE TRIGGER gateway_user_renamed AFTER UPDATE OF username ON public.auth_user FOR EACH ROW WHEN (((old.username)::text <> (new.username)::text)) EXECUTE FUNCTION public.gateway_retire_user_name();
CREATE TRIGGER notify_catalogue AFTER UPDATE OF is_active ON public.auth_user FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE ON public.execution_speculationgrant FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF name ON public.tools_category FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF pattern, danger, enabled ON public.tools_dangerousoperation FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE ON public.tools_membership FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF name, team_id, transport, command, args, env_sealed, cwd, enabled, trusted, price_per_call, connect_timeout_s, call_timeout_s, description, instructions, url, headers_sealed, private_network, session, idle_stop_s, "authorization", oauth_client_id, oauth_client_secret_sealed, oauth_scopes, unprefixed, capabilities ON public.tools_server FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE ON public.tools_serversignin FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF approve_from ON public.tools_team FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF name, state, enabled, category_id, definition_id, danger_override, pinned, approval, repeatable_override, ignored_places ON public.tools_tool FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE OF name, team_id, servers, categories, tools ON public.tools_toolgroup FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_catalogue();
CREATE TRIGGER notify_graph_delete AFTER DELETE ON public.graph_fittedmodel REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_fittedmodel_notify();
CREATE TRIGGER notify_graph_delete AFTER DELETE ON public.graph_patternembedding REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_patternembedding_notify();
CREATE TRIGGER notify_graph_delete AFTER DELETE ON public.graph_relationevidence REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_relationevidence_notify();
CREATE TRIGGER notify_graph_delete AFTER DELETE ON public.graph_tooldependency REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_tooldependency_notify();
CREATE TRIGGER notify_graph_delete AFTER DELETE ON public.graph_workflowpattern REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_workflowpattern_notify();
CREATE TRIGGER notify_graph_insert AFTER INSERT ON public.graph_fittedmodel REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_fittedmodel_notify();
CREATE TRIGGER notify_graph_insert AFTER INSERT ON public.graph_patternembedding REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_patternembedding_notify();
CREATE TRIGGER notify_graph_insert AFTER INSERT ON public.graph_relationevidence REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_relationevidence_notify();
CREATE TRIGGER notify_graph_insert AFTER INSERT ON public.graph_tooldependency REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_tooldependency_notify();
CREATE TRIGGER notify_graph_insert AFTER INSERT ON public.graph_workflowpattern REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_workflowpattern_notify();
CREATE TRIGGER notify_graph_update AFTER UPDATE ON public.graph_fittedmodel REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_fittedmodel_notify();
CREATE TRIGGER notify_graph_update AFTER UPDATE ON public.graph_patternembedding REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_patternembedding_notify();
CREATE TRIGGER notify_graph_update AFTER UPDATE ON public.graph_relationevidence REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_relationevidence_notify();
CREATE TRIGGER notify_graph_update AFTER UPDATE ON public.graph_tooldependency REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_tooldependency_notify();
CREATE TRIGGER notify_graph_update AFTER UPDATE ON public.graph_workflowpattern REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION public.graph_workflowpattern_notify();
CREATE TRIGGER notify_of_migrations AFTER INSERT OR DELETE ON public.django_migrations FOR EACH STATEMENT EXECUTE FUNCTION public.gateway_notify_of_migrations();
CREATE TRIGGER notify_search AFTER INSERT OR DELETE OR UPDATE ON public.tools_toolembedding FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_search();
CREATE TRIGGER notify_search AFTER INSERT OR DELETE OR UPDATE ON public.tools_tooltext FOR EACH STATEMENT EXECUTE FUNCTION public.tools_notify_search();
CREATE TRIGGER notify_speculation AFTER INSERT OR DELETE OR UPDATE ON public.execution_speculationbudget FOR EACH STATEMENT EXECUTE FUNCTION public.execution_notify_speculation();
CREATE TRIGGER notify_speculation AFTER INSERT OR DELETE OR UPDATE ON public.execution_speculationcontrol FOR EACH STATEMENT EXECUTE FUNCTION public.execution_notify_speculation();
CREATE TRIGGER tell_webhooks AFTER INSERT ON public.execution_approval FOR EACH ROW WHEN (((new.status)::text = 'pending'::text)) EXECUTE FUNCTION public.gateway_tell_approval();
CREATE TRIGGER tell_webhooks AFTER UPDATE OF status ON public.execution_workflowexecution FOR EACH ROW WHEN ((((new.status)::text = 'failed'::text) AND ((old.status)::text <> 'failed'::text))) EXECUTE FUNCTION public.gateway_tell_failure();
CREATE TRIGGER tell_webhooks AFTER UPDATE OF state ON public.tools_tool FOR EACH ROW WHEN ((((new.state)::text = 'quarantined'::text) AND ((old.state)::text <> 'quarantined'::text))) EXECUTE FUNCTION public.gateway_tell_change();
ALTER TABLE ONLY public.account_emailaddress
    ADD CONSTRAINT account_emailaddress_user_id_2c513194_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.account_emailconfirmation
    ADD CONSTRAINT account_emailconfirm_email_address_id_5b7f8c58_fk_account_e FOREIGN KEY (email_address_id) REFERENCES public.account_emailaddress(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_group_id_97559544_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_user_id_6a12ed8b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permi_permission_id_1fbb5f2c_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_user_id_a95ead1b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.axes_accessattemptexpiration
    ADD CONSTRAINT axes_accessattemptex_access_attempt_id_6b73a47a_fk_axes_acce FOREIGN KEY (access_attempt_id) REFERENCES public.axes_accessattempt(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_content_type_id_c4bce8eb_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_user_id_c564eba6_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_episodicevent
    ADD CONSTRAINT event_of_team FOREIGN KEY (team_id) REFERENCES public.tools_team(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.execution_approval
    ADD CONSTRAINT execution_approval_run_id_819785e0_fk_execution FOREIGN KEY (run_id) REFERENCES public.execution_workflowexecution(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_budgetreservation
    ADD CONSTRAINT execution_budgetrese_server_id_47fd3f4e_fk_tools_ser FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_budgetreservation
    ADD CONSTRAINT execution_budgetreservation_team_id_0762d31c_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_executionevent
    ADD CONSTRAINT execution_executione_run_id_2cddd88f_fk_execution FOREIGN KEY (run_id) REFERENCES public.execution_workflowexecution(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_payload
    ADD CONSTRAINT execution_payload_run_id_ac216f23_fk_execution FOREIGN KEY (run_id) REFERENCES public.execution_workflowexecution(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_runcommand
    ADD CONSTRAINT execution_runcommand_run_id_a887f528_fk_execution FOREIGN KEY (run_id) REFERENCES public.execution_workflowexecution(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculationbudget
    ADD CONSTRAINT execution_speculatio_server_id_ea416372_fk_tools_ser FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculationagreement
    ADD CONSTRAINT execution_speculatio_team_id_2b8844a7_fk_tools_tea FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculationagreement
    ADD CONSTRAINT execution_speculatio_tool_id_098c96c2_fk_tools_too FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculation
    ADD CONSTRAINT execution_speculation_team_id_07858ce3_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculationgrant
    ADD CONSTRAINT execution_speculationgrant_team_id_94308ccc_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_speculationgrant
    ADD CONSTRAINT execution_speculationgrant_tool_id_bd02f077_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_taskrun
    ADD CONSTRAINT execution_taskrun_run_id_e3809042_fk_execution FOREIGN KEY (run_id) REFERENCES public.execution_workflowexecution(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.execution_workflowexecution
    ADD CONSTRAINT execution_workflowexecution_team_id_1770d3a3_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_apitoken
    ADD CONSTRAINT gateway_project_apit_tool_group_id_3b907a88_fk_tools_too FOREIGN KEY (tool_group_id) REFERENCES public.tools_toolgroup(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_apitoken
    ADD CONSTRAINT gateway_project_apitoken_team_id_72dbb670_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_apitoken
    ADD CONSTRAINT gateway_project_apitoken_user_id_095a4f2e_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_auditentry
    ADD CONSTRAINT gateway_project_auditentry_team_id_0d5ad614_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_auditentry
    ADD CONSTRAINT gateway_project_auditentry_user_id_cfc5068a_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_oauthclient
    ADD CONSTRAINT gateway_project_oauthclient_user_id_b3d2e9e3_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_onetimepassword
    ADD CONSTRAINT gateway_project_onet_user_id_d32cebc6_fk_auth_user FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_webhookdelivery
    ADD CONSTRAINT gateway_project_webh_webhook_id_baa23c34_fk_gateway_p FOREIGN KEY (webhook_id) REFERENCES public.gateway_project_webhook(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.gateway_project_webhook
    ADD CONSTRAINT gateway_project_webhook_team_id_52926bf3_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_fittedmodel
    ADD CONSTRAINT graph_fittedmodel_team_id_86eb112d_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_learnedbinding
    ADD CONSTRAINT graph_learnedbinding_giver_id_a5ac398d_fk_tools_tool_id FOREIGN KEY (giver_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_learnedbinding
    ADD CONSTRAINT graph_learnedbinding_team_id_7f13045a_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_learnedbinding
    ADD CONSTRAINT graph_learnedbinding_tool_id_f1880bc0_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_outputshape
    ADD CONSTRAINT graph_outputshape_team_id_6fc622bb_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_outputshape
    ADD CONSTRAINT graph_outputshape_tool_id_be380954_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_patternembedding
    ADD CONSTRAINT graph_patternembeddi_pattern_id_33135def_fk_graph_wor FOREIGN KEY (pattern_id) REFERENCES public.graph_workflowpattern(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_patternrun
    ADD CONSTRAINT graph_patternrun_pattern_id_169920cd_fk_graph_wor FOREIGN KEY (pattern_id) REFERENCES public.graph_workflowpattern(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_patternrun
    ADD CONSTRAINT graph_patternrun_team_id_5eeaea34_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_relationevidence
    ADD CONSTRAINT graph_relationeviden_relation_id_5ef1ef03_fk_graph_too FOREIGN KEY (relation_id) REFERENCES public.graph_tooldependency(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_relationevidence
    ADD CONSTRAINT graph_relationevidence_team_id_cf1524d5_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_tooldependency
    ADD CONSTRAINT graph_tooldependency_source_id_b759ace5_fk_tools_tool_id FOREIGN KEY (source_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_tooldependency
    ADD CONSTRAINT graph_tooldependency_target_id_a6a99055_fk_tools_tool_id FOREIGN KEY (target_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_toolmetric
    ADD CONSTRAINT graph_toolmetric_tool_id_4b2b14d7_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_toolusage
    ADD CONSTRAINT graph_toolusage_team_id_4c6bec8e_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_toolusage
    ADD CONSTRAINT graph_toolusage_tool_id_8f4f9f6b_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.graph_workflowpattern
    ADD CONSTRAINT graph_workflowpattern_team_id_a2e7f113_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_adaptivethreshold
    ADD CONSTRAINT learning_adaptivethreshold_team_id_a9e14ab8_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_contribution
    ADD CONSTRAINT learning_contribution_team_id_bc5ef5b0_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_intentvector
    ADD CONSTRAINT learning_intentvector_team_id_e859fd47_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_predictiontotal
    ADD CONSTRAINT learning_predictiontotal_team_id_f4d8cce6_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_predictiontotal
    ADD CONSTRAINT learning_predictiontotal_tool_id_bc2fd1d1_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_thresholdchange
    ADD CONSTRAINT learning_thresholdch_threshold_id_8519fac3_fk_learning_ FOREIGN KEY (threshold_id) REFERENCES public.learning_adaptivethreshold(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_toolexperience
    ADD CONSTRAINT learning_toolexperience_team_id_97ce8333_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_toolexperience
    ADD CONSTRAINT learning_toolexperience_tool_id_79c02cc6_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.learning_unlearnedepisode
    ADD CONSTRAINT learning_unlearnedepisode_team_id_964a9e2b_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.mfa_authenticator
    ADD CONSTRAINT mfa_authenticator_user_id_0c3a50c0_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_acce_application_id_b22886e1_fk_gateway_p FOREIGN KEY (application_id) REFERENCES public.gateway_project_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_acce_id_token_id_85db651b_fk_oauth2_pr FOREIGN KEY (id_token_id) REFERENCES public.oauth2_provider_idtoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_acce_source_refresh_token_e66fbc72_fk_oauth2_pr FOREIGN KEY (source_refresh_token_id) REFERENCES public.oauth2_provider_refreshtoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_accesstoken
    ADD CONSTRAINT oauth2_provider_accesstoken_user_id_6e4c9a65_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_user_id_1cec5156_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_gran_application_id_81923564_fk_gateway_p FOREIGN KEY (application_id) REFERENCES public.gateway_project_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_grant
    ADD CONSTRAINT oauth2_provider_grant_user_id_e8f62af8_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idto_application_id_08c5ff4f_fk_gateway_p FOREIGN KEY (application_id) REFERENCES public.gateway_project_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_idtoken
    ADD CONSTRAINT oauth2_provider_idtoken_user_id_dd512b59_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refr_access_token_id_775e84e8_fk_oauth2_pr FOREIGN KEY (access_token_id) REFERENCES public.oauth2_provider_accesstoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refr_application_id_2d1c311b_fk_gateway_p FOREIGN KEY (application_id) REFERENCES public.gateway_project_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_refreshtoken
    ADD CONSTRAINT oauth2_provider_refreshtoken_user_id_da837fce_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.socialaccount_socialtoken
    ADD CONSTRAINT socialaccount_social_account_id_951f210e_fk_socialacc FOREIGN KEY (account_id) REFERENCES public.socialaccount_socialaccount(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.socialaccount_socialtoken
    ADD CONSTRAINT socialaccount_social_app_id_636a42d7_fk_socialacc FOREIGN KEY (app_id) REFERENCES public.socialaccount_socialapp(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.socialaccount_socialaccount
    ADD CONSTRAINT socialaccount_socialaccount_user_id_8146e70c_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_membership
    ADD CONSTRAINT tools_membership_team_id_8587e77d_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_membership
    ADD CONSTRAINT tools_membership_user_id_f9f9de88_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_server
    ADD CONSTRAINT tools_server_team_id_bcffdeec_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_serverdiscovery
    ADD CONSTRAINT tools_serverdiscovery_server_id_b33f8aa7_fk_tools_server_id FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_serveritems
    ADD CONSTRAINT tools_serveritems_server_id_375e3c70_fk_tools_server_id FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_serversignin
    ADD CONSTRAINT tools_serversignin_server_id_85a2829d_fk_tools_server_id FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_serversignin
    ADD CONSTRAINT tools_serversignin_user_id_559ef922_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_signinattempt
    ADD CONSTRAINT tools_signinattempt_server_id_8418df4b_fk_tools_server_id FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_signinattempt
    ADD CONSTRAINT tools_signinattempt_user_id_3758e23d_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_team
    ADD CONSTRAINT tools_team_person_id_08fe374c_fk_auth_user_id FOREIGN KEY (person_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tools_tool_category_id_75826aee_fk_tools_category_id FOREIGN KEY (category_id) REFERENCES public.tools_category(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tools_tool_definition_id_ddf8c3c6_fk_tools_tooldefinition_id FOREIGN KEY (definition_id) REFERENCES public.tools_tooldefinition(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tools_tool_listed_id_1c62c203_fk_tools_tooldefinition_id FOREIGN KEY (listed_id) REFERENCES public.tools_tooldefinition(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tool
    ADD CONSTRAINT tools_tool_server_id_5b62b139_fk_tools_server_id FOREIGN KEY (server_id) REFERENCES public.tools_server(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tooldefinition
    ADD CONSTRAINT tools_tooldefinition_approved_by_id_3f053659_fk_auth_user_id FOREIGN KEY (approved_by_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tooldefinition
    ADD CONSTRAINT tools_tooldefinition_tool_id_a7e3abf9_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_toolembedding
    ADD CONSTRAINT tools_toolembedding_tool_id_6c78e71c_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_toolgroup
    ADD CONSTRAINT tools_toolgroup_team_id_46841269_fk_tools_team_id FOREIGN KEY (team_id) REFERENCES public.tools_team(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_toolposting
    ADD CONSTRAINT tools_toolposting_tool_id_41c974a9_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tools_tooltext
    ADD CONSTRAINT tools_tooltext_tool_id_a3192961_fk_tools_tool_id FOREIGN KEY (tool_id) REFERENCES public.tools_tool(id) DEFERRABLE INITIALLY DEFERRED;
