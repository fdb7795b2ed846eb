import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { openKubernetes } from "./open-kubernetes.ts";

test.each([
  ["that was named", { kubeconfig: "/none/a" }, {}, "/none/a"],
  ["of the variable", {}, { KUBECONFIG: "/none/b" }, "/none/b"],
  ["that is usual", {}, { HOME: "/none" }, "/none/.kube/config"],
])(
  "a kubeconfig %s and is not there is told by its path, with the option that names another",
  async (_which, choice, variables, path) => {
    const clock = new FakeClock();
    const images = { init: "i", artifacts: "a" };
    const opened = await openKubernetes({ choice, variables, clock, images, build: { instance: "local" } });
    expect(opened).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining(path), hint: expect.stringContaining("--k8s-kubeconfig") },
    });
  },
);
