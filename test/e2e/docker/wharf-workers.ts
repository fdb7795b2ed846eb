import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { openContainerEngine } from "#kernel/runtimes/index.ts";
import { bareRepository, gitOverHttp, type GitServer } from "#test/support/git-servers.ts";
import { HostedBuilds, scriptStep } from "#test/support/hosted-builds.ts";
import { removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import { importWorkerImage, workerImage } from "#test/support/worker-image.ts";
import { DockerBackend } from "../../../src/dialects/wharf/provisioner/docker/docker-backend.ts";
import { containerName } from "../../../src/dialects/wharf/provisioner/docker/worker-container.ts";
import { readParameters } from "../../../src/dialects/wharf/provisioner/parameters.ts";
import { readResults } from "../../../src/dialects/wharf/results/read-results.ts";
import { tcpConnect } from "../../../src/dialects/wharf/worker-api/tcp-connect.ts";
import { serveResults } from "../../../src/dialects/wharf/worker-api/serve-results.ts";
import { backendContract, cloneToken, tokenOf } from "../worker-backends.contract.ts";
import { testImage } from "#test/support/docker-engine.ts";
import { engine } from "./engine.ts";

// Workers as containers of the built product, whose steps are containers beside them.

const network = "wharf-workers";
let root: string;
let git: GitServer;
let gateway: string;
let count = 0;

beforeAll(async () => {
  root = await temporaryDirectory();
  await importWorkerImage(engine, root);
  await engine.docker("network", "create", network);
  const format = "{{(index .IPAM.Config 0).Gateway}}";
  gateway = (await engine.docker("network", "inspect", network, "--format", format)).out.trim();
  git = await gitOverHttp(root, { token: cloneToken, host: gateway });
});
afterAll(async () => {
  await git?.close();
  await removeDirectory(root);
});

const label = "label=slipway.dev/provisioner";
const ofSteps = "label=app=wharf-cmd-worker-step";
const lines = (text: string) => text.split("\n").filter(Boolean);

async function open(image = workerImage): Promise<DockerBackend> {
  const variable = (name: string) => (name === "DOCKER_HOST" ? engine.host : undefined);
  return new DockerBackend({
    engine: await openContainerEngine({ variable, home: root }, systemClock),
    setup: { image, network, socket: engine.socket, provisioner: "ours" },
    runtime: "docker",
    directory: `${root}/ended`,
    serve: async (directory, token) => {
      const options = { address: "127.0.0.1:0", token, clock: systemClock, log: silentLog };
      return await serveResults(await readResults(directory, systemClock), options);
    },
    tokenOf,
    logins: async () => [],
    clock: systemClock,
    log: silentLog,
  });
}

backendContract(() => ({
  open,
  connect: tcpConnect,
  repository(files) {
    const name = `r${++count}.git`;
    if (files !== undefined) bareRepository(root, name, files);
    return `http://${gateway}:${git.port}/${name}`;
  },
  kill: async (worker) => void (await engine.docker("kill", containerName(worker))),
  visible: async (worker) => {
    const name = containerName(worker);
    const told = [
      await engine.docker("inspect", name),
      await engine.docker("top", name),
      await engine.docker("logs", name),
      await engine.docker("volume", "inspect", name),
    ];
    return told.map(({ out, err }) => out + err).join("\n");
  },
  count: async () => {
    const containers = await engine.docker("ps", "-aq", "--filter", label);
    const volumes = await engine.docker("volume", "ls", "-q", "--filter", label);
    expect(lines(volumes.out)).toHaveLength(lines(containers.out).length);
    const found = lines(containers.out).length;
    // With a worker its steps go, too, however it has ended.
    const steps = await engine.docker("ps", "-aq", "--filter", ofSteps);
    if (found === 0) expect(lines(steps.out)).toEqual([]);
    return found;
  },
}));

test("a container that somebody removes leaves its results on its volume; one that cannot be made says why", async () => {
  const [backend, uid] = [await open(), "00000000-0000-4000-8000-00000000beef"];
  const worker = { namespace: "default", name: "wharf-cmd-worker-local-77", uid };
  const definition = { s: { t: { container: { image: testImage, cmds: ["echo begun", "sleep 600"] } } } };
  bareRepository(root, "removed.git", { ".wharf-ci.yml": JSON.stringify(definition) });
  const given = { GIT_FULLURL: `http://${gateway}:${git.port}/removed.git`, GIT_TOKEN: cloneToken };
  const read = readParameters(given, { instance: "local", allowLocalRepos: false });
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  const seen = () => backend.observe(worker);
  await backend.start(worker, read.value);
  await expect.poll(async () => (await engine.docker("ps", "-q", "--filter", ofSteps)).out).not.toBe("");
  await engine.docker("rm", "-f", containerName(worker));
  await expect.poll(seen).toMatchObject({ phase: "finished", isAlive: false, status: "Failed" });
  const { address } = await seen();
  const asked = await fetch(`http://${address}/api/build`, { headers: { authorization: `Bearer ${tokenOf(uid)}` } });
  expect(await asked.json()).toMatchObject({ status: "Failed", reason: "WorkerCrashed" });
  // Its steps would go on, and nobody would ever remove them.
  expect(lines((await engine.docker("ps", "-aq", "--filter", ofSteps)).out)).toEqual([]);
  // What was begun is not begun again.
  await backend.start(worker, read.value);
  expect(lines((await engine.docker("ps", "-aq", "--filter", label)).out)).toEqual([]);
  await backend.remove(worker);
  expect(await seen()).toMatchObject({ phase: "absent" });
  expect(lines((await engine.docker("volume", "ls", "-q", "--filter", label)).out)).toEqual([]);
  await backend.close();
  const without = await open("nowhere.invalid/none:1");
  await expect(without.start(worker, read.value)).rejects.toMatchObject({
    code: "worker-refused",
    message: expect.stringContaining("nowhere.invalid/none:1"),
  });
  await without.close();
});

test("a build of a server whose workers are containers: all of its lines, and nothing is left", async () => {
  const settings = { WHARF_PROVISIONER_DOCKER_IMAGE: workerImage, WHARF_PROVISIONER_DOCKER_NETWORK: network };
  const hosted = await HostedBuilds.open(root, {
    token: "open-sesame",
    args: ["--wharf-backend", "docker"],
    env: { ...settings, DOCKER_HOST: engine.host },
  });
  try {
    bareRepository(root, "web.git", {
      ".wharf-ci.yml": JSON.stringify({ build: { one: scriptStep("echo one", "echo two") } }).replaceAll(
        '"busybox"',
        `"${testImage}"`,
      ),
    });
    await hosted.addProjectAt(`http://${gateway}:${git.port}/web.git`, cloneToken);
    const number = await hosted.build();
    await expect.poll(() => hosted.facts(number), { timeout: 80_000 }).toMatchObject({ status: "Completed" });
    const log = await hosted.log(number);
    expect(log.map(({ message }) => message)).toEqual(["one", "two"]);
    await expect.poll(() => hosted.workers(), { timeout: 80_000 }).toEqual([]);
    expect(lines((await engine.docker("volume", "ls", "-q", "--filter", label)).out)).toEqual([]);
  } finally {
    await hosted.close();
  }
});
