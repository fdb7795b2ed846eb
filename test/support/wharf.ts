import { spawn } from "node:child_process";
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { cleanEnvironment, slipwayBin, temporaryDirectory } from "./slipway.ts";

/** A repository of Git with a definition and other files, and a directory for what builds leave. */
export interface WharfProject {
  /** The parent of both. */
  readonly home: string;
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

export async function wharfProject(
  definition: string,
  files: Readonly<Record<string, string>> = {},
): Promise<WharfProject> {
  const home = await temporaryDirectory();
  const directory = join(home, "project");
  await mkdir(join(home, "tmp"));
  for (const [path, text] of Object.entries({ ".wharf-ci.yml": definition, ...files })) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  const git = (...words: readonly string[]) => execFileSync("git", words, { cwd: directory, stdio: "ignore" });
  git("init", "-q", ".");
  git("add", "-A");
  git("-c", "user.email=t@example.com", "-c", "user.name=t", "commit", "-qm", "all");
  return { home, directory, env: { HOME: home, TMPDIR: join(home, "tmp") } };
}

/** A build that was started by the built command, and can be sent signals. */
export function startWharf(project: WharfProject, args: readonly string[] = []) {
  const words = [slipwayBin, "run", "--runtime", "host", ...args];
  const child = spawn(process.execPath, words, {
    cwd: project.directory,
    env: cleanEnvironment(project.env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const ended = new Promise<{ readonly code: number | null; readonly signal: string | null }>((resolve) =>
    child.once("close", (code, signal) => resolve({ code, signal })),
  );
  return { child, ended, out: () => out, err: () => err };
}

/** Where the results of a build are. */
export const resultsOf = ({ env }: WharfProject, buildId: number | string): string =>
  join(env["TMPDIR"] ?? "", "iver-wharf/build", `${buildId}`);

/** build.json of a build. */
export async function readBuildFile(directory: string) {
  return JSON.parse(await readFile(join(directory, "build.json"), "utf8")) as {
    readonly status: string;
    readonly reason?: string;
    readonly frozen: boolean;
    readonly stages: readonly { readonly name: string; readonly status: string }[];
    readonly steps: readonly {
      readonly name: string;
      readonly status: string;
      readonly exitCode: number | null;
      readonly reason?: string;
    }[];
  };
}

/** The messages of a step, without their times. */
export async function messagesOf(directory: string, stepId: number): Promise<readonly string[]> {
  const text = await readFile(join(directory, `steps/${stepId}/output.log`), "utf8");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => line.slice(line.indexOf(" ") + 1));
}

/** Numbers of living processes whose variables say that they belong to a build below this directory. */
export async function processesBelow(directory: string): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const variables = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
      const state = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => ") Z");
      const isOver = state.slice(state.lastIndexOf(")") + 2).startsWith("Z");
      return variables.includes(`WHARF_ARTIFACTS_DIR=${directory}/`) && !isOver ? [Number(pid)] : [];
    }),
  );
  return found.flat();
}

/** Workers of a provisioner of this machine: processes that have become one in a directory below this one. Each leads a group of its own. */
export async function hostWorkersBelow(
  directory: string,
): Promise<readonly { readonly pid: number; readonly directory: string }[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const words = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
      const place = words[4] ?? "";
      const isWorker = words[2] === "wharf" && words[3] === "launch" && place.startsWith(directory);
      return isWorker ? [{ pid: Number(pid), directory: place }] : [];
    }),
  );
  return found.flat();
}
