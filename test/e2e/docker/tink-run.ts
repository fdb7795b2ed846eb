import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testImage } from "#test/support/docker-engine.ts";
import { slipway } from "#test/support/slipway.ts";
import { engine } from "./engine.ts";

// `slipway run` of Tinkerbell's documents in containers, which its own agent makes.

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-docker-run-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function run(name: string, text: string) {
  const path = join(directory, name);
  await writeFile(path, text);
  return await slipway(["run", "--ephemeral", "--runtime", "docker", path], { env: { DOCKER_HOST: engine.host } });
}

test("the machine of the examples is provisioned in containers, of which none is left", async () => {
  const example = await readFile("examples/tinkerbell/machine.yaml", "utf8");
  // The engine of tests has no bridge.
  const text = example.replaceAll(/^( +)image: (\S+)$/gm, "$1image: $2\n$1namespaces: {network: none}");
  expect(text).toContain(`image: ${testImage}\n            namespaces:`);
  const { code, err } = await run("machine.yaml", text);
  expect(code, err).toBe(0);
  expect(err).toContain("provision-7: SUCCESS");
  // Containers of other tests may be on their way out.
  const left = await engine.docker("ps", "-a", "--format", '{{.Label "slipway.dev/workflow-id"}}');
  expect(left.out).not.toContain("provision-7");
});

test("containers of a run have no privileges: this machine is not there to be provisioned", async () => {
  // A container with privileges could make a device, and sees those of the machine.
  const script = "mknod /tmp/disk b 8 0 && cat /tmp/disk > /dev/null 2>&1; test $? -ne 0 && ! ls /dev/mem";
  const action = { name: "a", image: testImage, namespaces: { network: "none" }, command: ["sh", "-c", script] };
  const { code, err } = await run(
    "t.yaml",
    `name: t\ntasks: ${JSON.stringify([{ name: "t", worker: "m", actions: [action] }])}\n`,
  );
  expect(code, err).toBe(0);
});
