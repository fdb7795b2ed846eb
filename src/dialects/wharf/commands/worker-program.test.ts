import { expect, test } from "vitest";
import { workerEnvironment } from "./worker-program.ts";
import { environmentIn } from "#kernel/command/testing/index.ts";

const variables = {
  PATH: "/bin",
  SECRET: "tea",
  DOCKER_HOST: "unix:///e.sock",
  WHARF_WORKER_STEPS_HELM_IMAGE: "helm",
  WHARF_LOGS_MAXLINEBYTES: "10",
  WHARF_PROVISIONER_DRAIN: "1s",
  WHARF_CONFIG: ".wharf-cmd-config.yml",
  WHARF_VAR_TOKEN: "coffee",
};
const environment = environmentIn("/here", { variables });

test("workers see the variables that programs, Git and engines need and their own settings, and nothing secret", () => {
  expect(workerEnvironment(environment)).toEqual({
    PATH: "/bin",
    DOCKER_HOST: "unix:///e.sock",
    WHARF_WORKER_STEPS_HELM_IMAGE: "helm",
    WHARF_LOGS_MAXLINEBYTES: "10",
    // As it was meant where it was typed: workers begin elsewhere.
    WHARF_CONFIG: "/here/.wharf-cmd-config.yml",
  });
});
