import { afterEach, beforeEach, expect, test } from "vitest";
import { HostedBuilds, scriptStep } from "#test/support/hosted-builds.ts";
import { removeDirectory, slipway, temporaryDirectory } from "#test/support/slipway.ts";

const patience = { timeout: 80_000 };
let directory: string;
let hosted: HostedBuilds;
beforeEach(async () => {
  directory = await temporaryDirectory();
  hosted = await HostedBuilds.open(directory);
});
afterEach(async () => {
  await hosted.close();
  await removeDirectory(directory);
});

test("a build that is resubmitted has its password in a Secret of its own", async () => {
  await hosted.addProject({
    inputs: [{ name: "pw", type: "password" }],
    a: { b: scriptStep("echo of $(printf '%s' '${pw}' | wc -c) letters") },
  });
  const { buildRef } = await hosted.ask<{ readonly buildRef: string }>("POST", "/project/1/build", { pw: "hunter22" });
  await expect.poll(() => hosted.facts(buildRef), patience).toMatchObject({ status: "Completed" });
  const env = { SLIPWAY_KUBECONFIG: hosted.server.kubeconfig };
  const resubmitted = await slipway(["resubmit", "build/build-1", "--detach"], { env });
  expect(resubmitted.code, resubmitted.err).toBe(0);
  const [, name = ""] = /^build\/(\S+) created/.exec(resubmitted.out) ?? [];
  // Its number is the next one.
  await expect.poll(() => hosted.facts("2"), patience).toMatchObject({ status: "Completed" });
  expect((await hosted.log("2", 1)).map(({ message }) => message)).toEqual(["of 8 letters"]);
  const secretOf = async (build: string) =>
    (await slipway(["get", "build", build, "-o", "jsonpath={.spec.inputs.pw.secretKeyRef.name}"], { env })).out.trim();
  const [first, second] = [await secretOf("build-1"), await secretOf(name)];
  expect(second).toMatch(new RegExp(`^${name}-inputs-`));
  expect(second).not.toBe(first);
});
