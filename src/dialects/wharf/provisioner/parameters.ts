import { err, ok, type Result } from "#lib/base/index.ts";
import { hasControl, readSourceUrl, type SourceUrl } from "#kernel/git/index.ts";
import { createReporter } from "../definition/diagnostics.ts";
import { kindOf } from "../definition/node.ts";
import { readNodes } from "../definition/read-nodes.ts";
import type { ProblemKind } from "../http/index.ts";

// Parameters of the released provisioner, all texts, in query, form or JSON; unknown ones are ignored.

export interface WorkerRequest {
  /** 0: no number; each request is a new worker. */
  readonly buildRef: number;
  readonly projectId: number;
  readonly instance: string;
  readonly source: SourceUrl;
  readonly branch?: string;
  /** A full ref. */
  readonly ref?: string;
  readonly commit?: string;
  readonly subDirectory?: string;
  readonly environment?: string;
  readonly stages?: string;
  readonly inputs: Readonly<Record<string, string>>;
  readonly variables: Readonly<Record<string, string>>;
  readonly token?: string;
}

export interface ParameterProblem {
  readonly kind: Extract<ProblemKind, "missing-param-string" | "invalid-param-uint" | "invalid-param">;
  /** Never contains secret values. */
  readonly message: string;
}

export type Parameters = Readonly<Record<string, string>>;

/** May be secret: stored separately and never logged. */
export const secretParameters: ReadonlySet<string> = new Set(["VARS", "ADDITIONAL_VARS", "GIT_TOKEN", "token"]);

export interface ParameterRules {
  /** Default for WHARF_INSTANCE. */
  readonly instance: string;
  readonly allowLocalRepos: boolean;
}

export function readParameters(
  given: Parameters,
  { instance, allowLocalRepos }: ParameterRules,
): Result<WorkerRequest, readonly ParameterProblem[]> {
  const reader = new Reader(given);
  const source = reader.read("GIT_FULLURL", (text) =>
    readSourceUrl(text, { allowLocal: allowLocalRepos, allowedBy: "provisioner.allowLocalRepos" }),
  );
  if (given["GIT_FULLURL"] === undefined || given["GIT_FULLURL"] === "")
    reader.problems.push({
      kind: "missing-param-string",
      message: "GIT_FULLURL: expected the address of a repository",
    });
  const branch = reader.read("GIT_BRANCH", refName);
  const repoBranch = reader.read("REPO_BRANCH", refName) ?? branch;
  const subDirectory = reader.read("SUB_DIR", relativePath);
  const stages = reader.read("RUN_STAGES", plain);
  const buildRef = reader.uint("BUILD_REF");
  const group = reader.read("REPO_GROUP", plain);
  const name = reader.read("REPO_NAME", plain);
  const optional = {
    branch: branch ?? repoBranch,
    ref: reader.read("GIT_REF", fullRef),
    commit: reader.read("GIT_COMMIT", commitHash),
    subDirectory: subDirectory === "" ? undefined : subDirectory,
    environment: reader.read("ENVIRONMENT", plain),
    stages: stages === "ALL" ? undefined : stages,
    token: reader.read("GIT_TOKEN", plain),
  };
  const additional = reader.read("ADDITIONAL_VARS", variableMap) ?? {};
  const request = {
    buildRef,
    projectId: reader.uint("WHARF_PROJECT_ID"),
    instance: reader.read("WHARF_INSTANCE", instanceName) ?? instance,
    inputs: reader.read("VARS", scalarMap) ?? {},
    variables: {
      ...present({ REPO_GROUP: group, REPO_NAME: name, GIT_BRANCH: branch, REPO_BRANCH: repoBranch }),
      ...(buildRef === 0 ? {} : { BUILD_REF: `${buildRef}` }),
      ...additional,
    },
    ...present(optional),
  };
  return source === undefined || reader.problems.length > 0 ? err(reader.problems) : ok({ ...request, source });
}

class Reader {
  readonly problems: ParameterProblem[] = [];
  readonly #given: Parameters;

  constructor(given: Parameters) {
    this.#given = given;
  }

  /** Problems are collected. */
  read<T>(name: string, parse: (text: string) => Result<T, string>): T | undefined {
    const text = this.#given[name] ?? "";
    if (text === "") return undefined;
    const parsed = parse(text);
    if (parsed.ok) return parsed.value;
    this.problems.push({ kind: "invalid-param", message: `${name}: ${parsed.error}` });
    return undefined;
  }

  uint(name: string): number {
    const text = this.#given[name]?.trim() ?? "";
    if (text === "") return 0;
    const value = Number(text);
    if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(value)) return value;
    this.problems.push({
      kind: "invalid-param-uint",
      message: `${name}: expected a whole number from 0, found ${quoted(text)}`,
    });
    return 0;
  }
}

const quoted = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);

const present = <T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;

const plain = (text: string): Result<string, string> =>
  hasControl(text) ? err("expected text without control characters") : ok(text);

/** The rules of git-check-ref-format(1) that matter here. */
function refName(text: string): Result<string, string> {
  const isWrong = hasControl(text) || /^[-/]|\.\.|@\{|[ ~^:?*[\\]|\/\/|\/$|\.lock$|\.$/.test(text);
  return isWrong ? err(`expected the name of a branch, found ${quoted(text)}`) : ok(text);
}

function fullRef(text: string): Result<string, string> {
  const isRight = text.startsWith("refs/") && refName(text).ok;
  return isRight ? ok(text) : err(`expected a full ref such as refs/tags/v1, found ${quoted(text)}`);
}

const commitHash = (text: string): Result<string, string> =>
  /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(text)
    ? ok(text.toLowerCase())
    : err(`expected a full hash of 40 or 64 hexadecimal digits, found ${quoted(text)}`);

function relativePath(text: string): Result<string, string> {
  const parts = text.split("/").filter((part) => part !== "" && part !== ".");
  const isWrong = hasControl(text) || text.startsWith("/") || text.includes("\\") || parts.includes("..");
  return isWrong ? err(`expected a path inside of the repository, found ${quoted(text)}`) : ok(parts.join("/"));
}

/** Used in labels and names. */
const instanceName = (text: string): Result<string, string> =>
  /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(text)
    ? ok(text)
    : err(`expected at most 63 letters, digits, ".", "_" and "-", found ${quoted(text)}`);

/** A map in JSON or YAML; values keep their text. */
function scalarMap(text: string): Result<Readonly<Record<string, string>>, string> {
  const reporter = createReporter("");
  const root = readNodes(text, reporter);
  const [problem] = reporter.diagnostics().filter(({ severity }) => severity === "error");
  // The reader's message may quote secret text.
  if (problem !== undefined || root === undefined)
    return err(`expected a map as JSON or YAML (${problem?.code ?? "type"})`);
  if (root.kind === "scalar" && root.tag === "null") return ok({});
  if (root.kind !== "map") return err(`expected a map as JSON or YAML, found ${kindOf(root)}`);
  const values: Record<string, string> = {};
  for (const { name, value } of root.members) {
    if (value.kind !== "scalar")
      return err(`${quoted(name)}: expected text, number or boolean, found ${kindOf(value)}`);
    Object.defineProperty(values, name, { value: value.tag === "null" ? "" : value.text, enumerable: true });
  }
  return ok(values);
}

/** Names and values must fit into an environment. */
function variableMap(text: string): Result<Readonly<Record<string, string>>, string> {
  const read = scalarMap(text);
  if (!read.ok) return read;
  for (const [name, value] of Object.entries(read.value))
    if (name === "" || /[=\0]/.test(name) || value.includes("\0"))
      return err(`expected names without "=", and nothing with a NUL, found ${quoted(name)}`);
  return read;
}
