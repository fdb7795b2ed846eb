import { execFile } from "node:child_process";
import { err, messageOf, ok, type Result } from "#lib/base/index.ts";
import type { GitCommit, GitFacts } from "../variables/git-variables.ts";

// Git itself is asked, because work trees, packed references, includes of its configuration and whatever comes next are its business. It is told to
// lock nothing and to ask nobody: a build must not be in the way of whoever works in the directory.

/** Asks Git about a directory. The error says why there are no answers: no repository, no Git, or too long an answer. */
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
  // Each of these may fail by itself: no branch is checked out, there is no commit yet, nothing was cloned from anywhere.
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

/** What is checked out, unless nothing was ever committed. */
async function commitOf(ask: Ask): Promise<GitCommit | undefined> {
  const [shown, count] = await Promise.all([
    ask("log", "-1", "--no-show-signature", "--format=%H%n%h%n%aI%n%cI%n%B", "HEAD"),
    ask("rev-list", "--count", "HEAD"),
  ]);
  if (shown === undefined || count === undefined) return undefined;
  const [hash = "", shortHash = "", authorDate = "", committerDate = "", subject = ""] = shown.split("\n");
  return { hash, shortHash, authorDate, committerDate, subject, count };
}

/** Of several tags the newest, of an explanation what went wrong. */
const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";

/** Where Git runs, with which environment: that of the user, whose configuration decides for instance which directories are trusted. */
interface Place {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Of what it prints; more is a failure. A mebibyte unless told. */
  readonly mostBytes?: number;
}

/** What Git tells its hooks of the repository that it is at work in: not always the one that is asked about. */
const ofOneRepository = [
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_PREFIX",
  "GIT_COMMON_DIR",
  "GIT_OBJECT_DIRECTORY",
];

/** Nothing that is asked here takes long or says much; a repository on a disk that hangs must not hang the build. */
const timeout = 30_000;

/**
 * What Git prints, without the end of its last line. Rejects when it fails. Some settings name programs that Git runs even for a question, and the
 * repository may be a stranger's: the file system monitor, and whatever would fetch missing objects.
 */
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
