import { expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { openDockerBackend } from "./open-docker-backend.ts";

test.each(["host", "none", "container:db"])(
  "the network %s, in which no worker has a port of its own, is refused",
  async (network) => {
    const opened = openDockerBackend({
      settings: { "provisioner.docker.network": network },
      program: { words: [], environment: {} },
      version: "1",
      directory: "/nowhere",
      serve: () => Promise.reject(new Error("nothing is served")),
      tokenOf: () => "t",
      clock: systemClock,
      log: silentLog,
    });
    await expect(opened).rejects.toMatchObject({
      code: "worker-backend",
      message: `provisioner.docker.network: workers cannot be in the network "${network}"`,
      hint: expect.stringContaining("docker network create"),
    });
  },
);
