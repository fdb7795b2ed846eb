import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { within } from "./within.ts";
import { cleanEnvironment, exec, type ExecOptions, type Finished, kubectlFolder, root } from "./slipway.ts";
import { rounds } from "./rounds.ts";

/** A kubectl to test with. */
export interface Kubectl {
  /** `1.32`, as it says itself. */
  readonly minor: string;
  readonly path: string;
  run(args: readonly string[], options?: ExecOptions): Promise<Finished>;
  /** As run, but fails the test with what it printed when it fails. Returns what it printed. */
  must(args: readonly string[], options?: ExecOptions): Promise<string>;
  /** Starts it and collects what it prints until it is stopped. */
  start(args: readonly string[]): RunningKubectl;
}

export interface RunningKubectl {
  /** Resolves with everything printed so far, once `holds` is true of it. */
  until(holds: (out: string) => boolean): Promise<string>;
  stop(): Promise<void>;
}

/** The programs to test with, which `npm test` unpacks: the newest, and Debian's, which is the oldest. */
export const kubectlPaths: readonly [newest: string, oldest: string] = [
  join(kubectlFolder, "kubectl"),
  join(root, "node_modules/.cache/test-tools/usr/bin/kubectl"),
];

/** What the suites of one machine are tried with. Every minor is tried by `test/conformance/kubernetes/cluster`. */
export const kubectlsUnderTest: readonly string[] = kubectlPaths.slice(0, rounds(1, 2));

export async function openKubectl(path: string, kubeconfig: string): Promise<Kubectl> {
  if (!existsSync(path)) throw new Error(`${path} is missing; run: node scripts/test-tools.mjs`);
  const env = { KUBECONFIG: kubeconfig, HOME: join(kubeconfig, "..") };
  const run = (args: readonly string[], options: ExecOptions = {}) =>
    exec(path, args, { ...options, env: { ...env, ...options.env } });
  const version = await run(["version", "--client", "-o", "json"]);
  const { clientVersion } = JSON.parse(version.out) as { clientVersion: { major: string; minor: string } };
  return {
    minor: `${clientVersion.major}.${clientVersion.minor.replace(/\D/g, "")}`,
    path,
    run,
    async must(args, options) {
      const { code, out, err } = await run(args, options);
      if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}\n${err}${out}`);
      return out;
    },
    start: (args) => startKubectl(path, args, env),
  };
}

function startKubectl(path: string, args: readonly string[], env: Readonly<Record<string, string>>): RunningKubectl {
  const child = spawn(path, [...args], { env: cleanEnvironment(env), stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let wake = () => undefined as void;
  // Not its exit, before which not all that it has printed need have come.
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const add = (chunk: Buffer) => {
    out += chunk.toString();
    wake();
  };
  child.stdout.on("data", add);
  child.stderr.on("data", add);
  return {
    until(holds) {
      const printed = new Promise<string>((resolve, reject) => {
        wake = () => {
          if (holds(out)) resolve(out);
        };
        wake();
        void closed.then(() => (holds(out) ? resolve(out) : reject(new Error(`kubectl ended with\n${out}`))));
      });
      return within(60_000, `kubectl ${args.join(" ")} prints what is waited for`, printed, () => out);
    },
    async stop() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}
