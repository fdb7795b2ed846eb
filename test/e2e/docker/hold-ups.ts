import { afterAll, beforeAll, expect, test } from "vitest";
import { testImage } from "#test/support/docker-engine.ts";
import { runUntil, step, workflowFile } from "#test/support/held-up-run.ts";
import { removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import { engine } from "./engine.ts";

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => removeDirectory(directory));

test("an image that cannot be had, a crash loop and a missing Secret are told of while the run goes on", async () => {
  const secret = { env: [{ name: "X", valueFrom: { secretKeyRef: { name: "nowhere", key: "x" } } }] };
  const crash = {
    jobTemplate: {
      spec: {
        template: {
          spec: {
            restartPolicy: "OnFailure",
            containers: [{ name: "main", image: testImage, command: ["sh", "-c", "exit 3"] }],
          },
        },
      },
    },
  };
  // Nobody listens on port 1 of this machine.
  const image = step({ image: "127.0.0.1:1/nowhere:1" });
  const path = await workflowFile(directory, "contained", { crash, image, secret: step(secret) });
  const { code, err } = await runUntil(
    [path, "--runtime", "docker"],
    { HOME: directory, DOCKER_HOST: engine.host },
    /crash: held up/,
    /image: held up/,
    /secret: held up/,
  );
  expect(code, err).toBe(130);
  expect(err).toMatch(/crash: held up \(CrashLoopBackOff: .*exit code 3\)/);
  expect(err).toMatch(/image: held up \((?:ErrImagePull|ImagePullBackOff): .*127\.0\.0\.1:1/);
  expect(err).toContain('secret: held up (CreateContainerConfigError: secret "nowhere" not found)');
  expect(err).not.toContain("cannot continue");
});
