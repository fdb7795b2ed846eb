import { execFile } from "node:child_process";
import { err, messageOf, ok, type Result } from "#lib/base/index.ts";
import type { GitCommit, GitFacts } from "../variables/git-variables.ts";

// Git is run with optional locks and prompts disabled, so that builds do not disturb the user's work.

export async function askGit(
  directory: string,
  environment: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<Result<GitFacts, string>> {
  const git = (...words: readonly string[]) => runGit(words, { directory, environment, signal });
  try {
    await git("rev-parse", "--git-dir");
  } catch (thrown) {
    return err(firstLine(messageOf(thrown)));
  }
  const asked = (...words: readonly string[]) => git(...words).catch(() => undefined);
  const [branch = "", commit, tags = "", fetched, pushed] = await Promise.all([
    asked("symbolic-ref", "--quiet", "--short", "HEAD"),
    commitOf(asked),
    asked("tag", "--points-at", "HEAD", "--sort=-creatordate"),
    asked("remote", "get-url", "origin"),
    asked("remote", "get-url", "--push", "origin"),
  ]);
  const url = fetched ?? pushed;
  return ok({
    branch,
    tag: firstLine(tags),
    ...(commit === undefined ? {} : { commit }),
    ...(url === undefined ? {} : { url }),
  });
}

type Ask = (...words: readonly string[]) => Promise<string | undefined>;

async function commitOf(ask: Ask): Promise<GitCommit | undefined> {
  const [shown, count] = await Promise.all([
    ask("log", "-1", "--no-show-signature", "--format=%H%n%h%n%aI%n%cI%n%B", "HEAD"),
    ask("rev-list", "--count", "HEAD"),
  ]);
  if (shown === undefined || count === undefined) return undefined;
  const [hash = "", shortHash = "", authorDate = "", committerDate = "", subject = ""] = shown.split("\n");
  return { hash, shortHash, authorDate, committerDate, subject, count };
}

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";

interface Place {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly mostBytes?: number;
}

/** Variables that Git sets for hooks; they may name another repository. */
const ofOneRepository = [
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_PREFIX",
  "GIT_COMMON_DIR",
  "GIT_OBJECT_DIRECTORY",
];

/** A repository on a hanging disk must not block the build. */
const timeout = 30_000;

/** Runs Git and returns its output. Disables configured programs such as the file system monitor, because the
 * repository may be a stranger's. */
export function runGit(words: readonly string[], place: Place): Promise<string> {
  const { directory, environment, signal, mostBytes: maxBuffer = 1024 * 1024 } = place;
  const own = Object.entries(environment).filter(([name]) => !ofOneRepository.includes(name));
  const env = {
    ...Object.fromEntries(own),
    GIT_ALLOW_PROTOCOL: "",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    LC_ALL: "C",
  };
  const safely = ["-c", "core.fsmonitor=false", ...words];
  return new Promise((resolve, reject) => {
    execFile("git", safely, { cwd: directory, env, signal, timeout, maxBuffer }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.replace(/\n+$/, ""));
      else reject(new Error(stderr.trim() === "" ? error.message : stderr.trim(), { cause: error }));
    });
  });
}
