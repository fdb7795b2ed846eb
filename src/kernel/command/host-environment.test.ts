import { expect, test } from "vitest";
import { hostEnvironment } from "./host-environment.ts";
import { environmentIn } from "./testing/index.ts";

test("host steps see the variables that programs need, and nothing secret", () => {
  const variables = {
    PATH: "/bin",
    DOCKER_HOST: "unix:///e.sock",
    SECRET: "tea",
    KUBECONFIG: "/k",
    NODE_OPTIONS: "--x",
  };
  const seen = { PATH: "/bin", DOCKER_HOST: "unix:///e.sock" };
  expect(hostEnvironment(environmentIn("/here", { variables }))).toEqual(seen);
});
