import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "#test/support/free-port.ts";
import { type RebarServer, startRebar } from "#test/support/rebar.ts";
import { endRunner, exec, removeDirectory, slipway } from "#test/support/slipway.ts";
import { engine } from "./engine.ts";

// Digital Rebar's contexts in containers: what the example shows, and what a server does about the containers that an
// earlier one has left.

let directory: string;
let server: RebarServer;
let address = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-contexts-"));
  await importBash(join(directory, "bash"));
  address = `127.0.0.1:${await freePort()}`;
  server = await start();
  for (const context of contexts) await server.must("contexts", "create", JSON.stringify(context));
});
afterAll(async () => {
  await server.stop();
  await endRunner(join(directory, "data"));
  await removeDirectory(directory);
});

const start = () => startRebar(join(directory, "data"), address, { DOCKER_HOST: engine.host });

/** The image that the example names, with bash in it: the engine of tests fetches none. */
const bashImage = "debian:stable-slim";
/** In place of an agent it tells what it was started with. */
const agentImage = "agent:1";

const contexts = [
  { Name: "inside", Engine: "docker-context", Image: bashImage },
  { Name: "outside", Engine: "docker-context", Image: agentImage, Meta: { "slipway/agent": "external" } },
];

async function importBash(folder: string): Promise<void> {
  const { out } = await exec("ldd", ["/bin/bash"]);
  const files = ["/bin/bash", ...(out.match(/\/\S+/g) ?? [])];
  await exec("mkdir", ["-p", folder]);
  await exec("tar", ["-C", folder, "-xf", engine.rootTar]);
  for (const file of files) {
    await mkdir(join(folder, dirname(file)), { recursive: true });
    await copyFile(file, join(folder, file));
  }
  await mkdir(join(folder, "usr/bin"), { recursive: true });
  await copyFile("/usr/bin/busybox", join(folder, "usr/bin/env"));
  await writeFile(join(folder, "etc/os-release"), 'PRETTY_NAME="the image"\n');
  const tar = `${folder}.tar`;
  await exec("tar", ["-C", folder, "-cf", tar, "."]);
  const say =
    'CMD ["/bin/sh","-c","echo \\"$RS_CONTEXT $RS_UUID $RS_ENDPOINTS ${#RS_TOKEN}\\"; trap exit TERM; sleep 100000 & wait"]';
  for (const [image, ...changes] of [[bashImage], [agentImage, "--change", say]] as const) {
    const made = await engine.docker("import", "--change", "ENV PATH=/bin", ...changes, tar, image);
    expect(made.code, made.err).toBe(0);
  }
  await rm(tar);
}

/** Ids of running containers of an image. */
const running = async (image: string) =>
  (await engine.docker("ps", "-q", "--filter", `ancestor=${image}`)).out.split("\n").filter((id) => id !== "");

interface Machine {
  readonly Uuid: string;
  readonly Runnable: boolean;
  readonly CurrentJob: string;
}

const hasBegun = async (container: string) =>
  (await engine.docker("exec", container, "test", "-e", "/tmp/begun")).code === 0;
const machineOf = async (uuid: string) => (await server.must("machines", "show", uuid)) as Machine;

test("the example runs: a task on this machine, one in a container that goes with its context, and one here again", async () => {
  const run = await slipway(["run", "--ephemeral", "examples/rebar/context.yaml", "--logs"], {
    env: { DOCKER_HOST: engine.host },
  });
  expect(run.code, run.err).toBe(0);
  const { out: here } = await exec("sh", ["-c", '. /etc/os-release; echo "$PRETTY_NAME"']);
  expect(run.out.match(/in context .*/g)).toEqual([
    `in context '' on ${here.trim()}`,
    "in context 'builder' on the image",
    `in context '' on ${here.trim()}`,
  ]);
  expect(await running(bashImage)).toEqual([]);
});

test("a container with an agent of its own outlives the server, and ends when the machine leaves its context", async () => {
  const { Uuid } = (await server.must("machines", "create", '{"Name":"m-outside","Context":"outside"}')) as Machine;
  await expect.poll(() => running(agentImage)).toHaveLength(1);
  const [container = ""] = await running(agentImage);
  const said = await engine.docker("logs", container);
  expect(said.out).toMatch(new RegExp(`^outside ${Uuid} https://${address} \\d{2,}\n$`));
  await server.kill();
  server = await start();
  await expect.poll(() => server.log()).toContain("agent of a context started");
  expect(await running(agentImage)).toEqual([container]);
  await server.must("machines", "update", Uuid, '{"Context":""}');
  await expect.poll(() => running(agentImage)).toEqual([]);
});

test("an agent in the server loses its container with the server: the job fails, and the next one is in a new container", async () => {
  const Templates = [{ Name: "s", Contents: "#!/bin/bash\ntouch /tmp/begun\nsleep 100000\n" }];
  await server.must("tasks", "create", JSON.stringify({ Name: "slow", Templates }));
  const body = { Name: "m-inside", Context: "inside", Tasks: ["slow"] };
  const { Uuid } = (await server.must("machines", "create", JSON.stringify(body))) as Machine;
  await expect.poll(() => running(bashImage)).toHaveLength(1);
  const [first = ""] = await running(bashImage);
  await expect.poll(() => hasBegun(first)).toBe(true);
  await server.kill();
  server = await start();
  await expect.poll(async () => (await machineOf(Uuid)).Runnable).toBe(false);
  const { CurrentJob } = await machineOf(Uuid);
  expect(await server.must("jobs", "show", CurrentJob)).toMatchObject({ State: "failed", Context: "inside" });
  await expect.poll(() => running(bashImage)).toHaveLength(1);
  expect(await running(bashImage)).not.toEqual([first]);
  await server.must("machines", "run", Uuid);
  const [next = ""] = await running(bashImage);
  await expect.poll(() => hasBegun(next)).toBe(true);
});
