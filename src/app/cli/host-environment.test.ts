import { expect, test } from "vitest";
import { hostEnvironment, workerEnvironment } from "./host-environment.ts";
import { environmentIn } from "./testing/command-line.ts";

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

test("steps of the host see what programs need, and workers besides what they are set to, and nothing secret", () => {
  expect(hostEnvironment(environment)).toEqual({ PATH: "/bin" });
  expect(workerEnvironment(environment)).toEqual({
    PATH: "/bin",
    DOCKER_HOST: "unix:///e.sock",
    WHARF_WORKER_STEPS_HELM_IMAGE: "helm",
    WHARF_LOGS_MAXLINEBYTES: "10",
    // As it was meant where it was typed: workers begin elsewhere.
    WHARF_CONFIG: "/here/.wharf-cmd-config.yml",
  });
});
