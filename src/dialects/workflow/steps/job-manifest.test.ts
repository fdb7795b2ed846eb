import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { newRun, pendingStep } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { compileWorkflow } from "../compile/compile.ts";
import type { Workflow } from "../kinds.ts";
import type { Attempt } from "./executor.ts";
import { jobOfContainer } from "../compile/container-job.ts";
import { jobManifest } from "./job-manifest.ts";

const workflow: Stored<Workflow> = {
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: {
    name: "wf",
    namespace: "default",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
  spec: { steps: { a: { container: { image: "i" } } }, selector: { matchLabels: { team: "edge" } } },
};

function attempt(number = 1): Attempt {
  const compiled = compileWorkflow(workflow);
  const step = compiled?.steps.get("a");
  if (compiled === undefined || step === undefined) throw new Error("the test's workflow is wrong");
  const values = { run: newRun, state: () => pendingStep, main: undefined };
  return {
    workflow,
    compiled,
    step,
    number,
    round: number,
    phase: "Starting",
    reference: undefined,
    values,
    since: 0,
    now: 0,
  };
}
const template = (pod: JsonObject, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  metadata,
  spec: { ...spec, template: { metadata: { labels: { pod: "x" } }, spec: pod } },
});

test("what the template says stays, except its name, its own clean-up and what the selector demands", () => {
  const manifest = jobManifest(
    attempt(2),
    template(
      { containers: [] },
      { backoffLimit: 4, ttlSecondsAfterFinished: 9 },
      { name: "mine", labels: { own: "y" } },
    ),
  );
  expect(manifest).toMatchObject({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { namespace: "default", labels: { own: "y", team: "edge", "slipway.dev/attempt": "2" } },
    spec: { backoffLimit: 4, template: { metadata: { labels: { pod: "x", team: "edge", "slipway.dev/step": "a" } } } },
  });
  expect(manifest.metadata.name).toMatch(/^wf-a-[a-z2-7]{10}$/);
  expect(manifest.spec).not.toHaveProperty("ttlSecondsAfterFinished");
});

test("on Pods the author's labels win over those of the selector, and never over those by which children are found", () => {
  const labels = { team: "web", "slipway.dev/step": "b" };
  const { metadata, spec } = jobManifest(attempt(), { spec: { template: { metadata: { labels } } } });
  expect(metadata.labels).toMatchObject({ team: "edge", "slipway.dev/step": "a" });
  expect(spec).toMatchObject({ template: { metadata: { labels: { team: "web", "slipway.dev/step": "a" } } } });
});

test("each container, initial ones too, learns its step; the output path follows its termination message path", () => {
  const { spec } = jobManifest(
    attempt(),
    template({ initContainers: [{ name: "i" }], containers: [{ name: "c", terminationMessagePath: "/out" }] }),
  );
  const env = (path: string) => [
    { name: "SLIPWAY_WORKFLOW", value: "wf" },
    { name: "SLIPWAY_STEP", value: "a" },
    { name: "SLIPWAY_ATTEMPT", value: "1" },
    { name: "SLIPWAY_OUTPUT", value: path },
  ];
  expect(spec).toMatchObject({
    template: {
      spec: { initContainers: [{ env: env("/dev/termination-log") }], containers: [{ env: env("/out") }] },
    },
  });
});

test("our variables come first, so that the document's can refer to them", () => {
  const own = { name: "WHO", value: "$(SLIPWAY_STEP)" };
  const { spec } = jobManifest(attempt(), template({ containers: [{ name: "c", env: [own] }] }));
  expect(JSON.stringify(spec).indexOf("SLIPWAY_STEP")).toBeLessThan(JSON.stringify(spec).indexOf("WHO"));
});

test("labels and annotations that an expression made numbers become texts, as the API demands", () => {
  const { metadata } = jobManifest(
    attempt(),
    template({ containers: [] }, {}, { labels: { n: 3 }, annotations: { b: true } }),
  );
  expect(metadata).toMatchObject({ labels: { n: "3" }, annotations: { b: "true" } });
});

test("the short form becomes a Job with one container that is tried once", () => {
  expect(jobOfContainer({ image: "i", command: ["c"], volumes: [{ name: "v" }] })).toEqual({
    spec: {
      backoffLimit: 0,
      template: {
        spec: {
          restartPolicy: "Never",
          containers: [{ name: "main", image: "i", command: ["c"] }],
          volumes: [{ name: "v" }],
        },
      },
    },
  });
});
