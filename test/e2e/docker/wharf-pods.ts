import { afterAll, beforeAll, expect, test } from "vitest";
import { testImage } from "#test/support/docker-engine.ts";
import { removeDirectory, startServer, temporaryDirectory, type TestServer } from "#test/support/slipway.ts";
import { type WharfProject, wharfProject } from "#test/support/wharf.ts";
import { buildInPods, definitionInPods, openWharfCluster, type WharfCluster } from "#test/support/wharf-pods.ts";
import { engine } from "./engine.ts";

// Steps in Pods whose containers are real ones: the first process of each has number 1, and images are what they are.

let server: TestServer;
let cluster: WharfCluster;
let at: WharfProject;

beforeAll(async () => {
  await engine.docker("tag", testImage, "alpine:3");
  server = await startServer(await temporaryDirectory(), ["--runtime", "docker"], { DOCKER_HOST: engine.host });
  cluster = await openWharfCluster(server.kubeconfig);
  at = await wharfProject(definitionInPods(testImage), { "kept.txt": "kept\n" });
});
afterAll(async () => {
  await server.stop();
  await engine.docker("rmi", "alpine:3");
  for (const directory of [server.directory, at.home]) await removeDirectory(directory);
});

test("a build in Pods of containers: files in and out over exec, compressed on their way in, secrets that are not shown, and nothing left", async () => {
  const { code, out, err, artifacts } = await buildInPods(at, cluster, { WHARF_WORKER_K8S_COMPRESS: "true" });
  expect([code, err]).toEqual([0, ""]);
  expect(out).toContain("***");
  expect(out).not.toContain("top-secret");
  expect(artifacts).toEqual(["a.txt", "out/deep/b.txt"]);
  expect(await cluster.pods()).toEqual([]);
});
