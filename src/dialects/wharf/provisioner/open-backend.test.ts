import { expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { type BackendParts, openBackend } from "./open-backend.ts";

function open(parts: Partial<BackendParts>) {
  const manager = new Manager({
    client: memoryClient(),
    clock: systemClock,
    log: silentLog,
    random: seededRandom(1),
  });
  const environment = { DOCKER_HOST: "unix:///nowhere/docker.sock" };
  const usual = { program: { words: [], environment }, runtime: "host", directory: "/nowhere" } as const;
  return openBackend(manager, { ...usual, version: "1", token: "t", namespace: "default", ...parts });
}
const docker = { name: "docker", settings: {} } as const;
const refusal = (message: string, hint: string) => ({
  code: "worker-backend",
  message: expect.stringContaining(message),
  hint: expect.stringContaining(hint),
});

test("an engine that does not answer, or is on another machine, is told at the start", async () => {
  await expect(open({ backend: docker })).rejects.toMatchObject(refusal("unix:///nowhere/docker.sock", "DOCKER_HOST"));
  const program = { words: [], environment: { DOCKER_HOST: "tcp://192.0.2.1:2375" } };
  await expect(open({ backend: docker, program })).rejects.toMatchObject(
    refusal("tcp://192.0.2.1:2375 is on another machine", "run the provisioner there"),
  );
});

test("a control plane without an address has no way into Pods", async () => {
  const backend = { name: "kubernetes", settings: {} } as const;
  await expect(open({ backend, token: "t" })).rejects.toMatchObject({ code: "worker-backend" });
});
