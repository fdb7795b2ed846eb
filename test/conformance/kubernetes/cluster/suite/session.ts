import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { cleanEnvironment, type Finished } from "#test/support/slipway.ts";
import type { Case, Expected, Step } from "./case.ts";

// A case's own place: a directory with its files, a `bin` whose kubectl is the one under test, a kubeconfig whose namespace is
// the case's.

export interface SessionOptions {
  readonly directory: string;
  readonly kubectlPath: string;
  readonly kubeconfig: string;
  readonly namespace: string;
}

/** No command of the suite takes this long, on the busiest machine. */
const commandMs = 120_000;
const eventuallyMs = 60_000;
/** Between two looks at what comes about by itself: a look takes a tenth of a second of a processor that others could use. */
const lookAgainMs = 300;

/** Runs all steps of a case; fails with the command, what it printed and what was expected. */
export async function runCase({ files = {}, steps }: Case, options: SessionOptions): Promise<void> {
  await mkdir(join(options.directory, "bin"), { recursive: true });
  await symlink(options.kubectlPath, join(options.directory, "bin/kubectl"));
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === "string" ? content : JSON.stringify(content, undefined, 2);
    await mkdir(join(options.directory, name, ".."), { recursive: true });
    await writeFile(join(options.directory, name), text.replaceAll("$NS", options.namespace), { mode: 0o755 });
  }
  for (const step of steps) await runStep(step, options);
}

async function runStep([command, given = {}]: Step, options: SessionOptions): Promise<void> {
  const expected: Expected = typeof given === "string" || given instanceof RegExp ? { out: given } : given;
  const deadline = systemClock.monotonic() + eventuallyMs;
  for (;;) {
    const finished = await sh(command, options);
    const complaint = complaintOf(finished, expected, options.namespace);
    if (complaint === undefined) return;
    if (expected.eventually === undefined || systemClock.monotonic() > deadline) {
      expect.fail(`$ ${command}\n${finished.out}${finished.err}(ended with ${finished.code})\nexpected ${complaint}`);
    }
    await sleep(systemClock, lookAgainMs);
  }
}

/** What does not fit, in words. */
function complaintOf({ code, out, err }: Finished, expected: Expected, namespace: string): string | undefined {
  const wantedCode = expected.code ?? 0;
  if (code !== wantedCode) return `exit code ${wantedCode}`;
  for (const wanted of listOf(expected.out)) {
    if (typeof wanted === "string" ? out !== wanted.replaceAll("$NS", namespace) : !wanted.test(out))
      return `${typeof wanted === "string" ? JSON.stringify(wanted) : wanted} on standard output`;
  }
  const unsaid = listOf(expected.err).find((wanted) => !wanted.test(err));
  if (unsaid !== undefined) return `${unsaid} on standard error`;
  const said = expected.never?.test(out) === true || expected.never?.test(err) === true;
  return said ? `nothing like ${expected.never}` : undefined;
}

const listOf = <T>(value: T | readonly T[] | undefined): readonly T[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value as T];

/** Runs the command; what it leaves in the background is ended with it. */
function sh(command: string, { directory, kubeconfig, namespace }: SessionOptions): Promise<Finished> {
  const own = { KUBECONFIG: kubeconfig, HOME: directory, NS: namespace, W: `widgets-${namespace}` };
  const env = cleanEnvironment({ ...own, KUBECTL_APPLYSET: "true", TERM: "dumb" });
  const child = spawn("sh", ["-c", command], {
    cwd: directory,
    env: { ...env, PATH: `${directory}/bin:${env["PATH"] ?? ""}` },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const notLate = systemClock.after(commandMs, () => endGroup(child));
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  child.once("exit", () => endGroup(child));
  return new Promise((resolve) =>
    child.once("close", (code) => {
      // Once it has ended, its number may soon be that of a group of somebody else's.
      notLate();
      resolve({ code, out, err });
    }),
  );
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left, as it should be.
  }
}
