import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { kubectlsUnderTest } from "#test/support/kubectl.ts";
import { kubectlPlace } from "#test/support/kubectl-place.ts";

describe.each(kubectlsUnderTest)("%s", (path) => {
  const place = kubectlPlace(path);
  const { kubectl } = place;
  let isOld = false;

  beforeAll(async () => {
    isOld = Number(kubectl.minor.split(".")[1]) < 23;
    await kubectl.must(["apply", "-f", "examples/workflow/diamond.yaml"]);
    await kubectl.must(["wait", "--for=condition=Complete", "workflow/diamond", "--timeout=60s"]);
  });

  test("version names the server", async () => {
    const { serverVersion } = JSON.parse(await kubectl.must(["version", "-o", "json"])) as {
      serverVersion: { gitVersion: string };
    };
    expect(serverVersion.gitVersion).toMatch(/^v1\.33\.0\+slipway\./);
  });

  test("api-resources lists what is served, with short names and groups", async () => {
    const out = await kubectl.must(["api-resources"]);
    expect(out).toMatch(/^workflows +wf +slipway\.dev\/v1alpha1 +true +Workflow$/m);
    expect(out).toMatch(/^pods +po +v1 +true +Pod$/m);
    expect(out).toMatch(/^jobs +batch\/v1 +true +Job$/m);
  });

  test("apply tells created, unchanged and configured apart", async () => {
    const apply = (value: string) => {
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data: { key: value } };
      return kubectl.must(["apply", "-f", "-"], { input: JSON.stringify(body) });
    };
    expect(await apply("a")).toContain("configmap/applied created");
    expect(await apply("a")).toContain("configmap/applied unchanged");
    expect(await apply("b")).toContain("configmap/applied configured");
    expect(await kubectl.must(["get", "cm", "applied", "-o", "jsonpath={.data.key}"])).toBe("b");
  });

  test("get prints tables, wide ones, yaml, json and names", async () => {
    expect(await kubectl.must(["get", "wf"])).toMatch(/^NAME +PHASE +STEPS +STARTED +AGE\ndiamond +Succeeded +5\/5 /);
    expect(await kubectl.must(["get", "workflows", "-o", "wide"])).toMatch(
      /^NAME +PHASE +STEPS +MESSAGE +STARTED +AGE\n/,
    );
    expect(await kubectl.must(["get", "wf", "diamond", "-o", "yaml"])).toContain("kind: Workflow\n");
    const object = JSON.parse(await kubectl.must(["get", "wf", "diamond", "-o", "json"])) as {
      status: { phase: string };
    };
    expect(object.status.phase).toBe("Succeeded");
    expect(await kubectl.must(["get", "wf", "-o", "name"])).toBe("workflow.slipway.dev/diamond\n");
    const jobs = await kubectl.must(["get", "jobs", "-l", "slipway.dev/workflow=diamond", "-o", "name"]);
    expect(jobs.trim().split("\n")).toHaveLength(5);
    expect(await kubectl.must(["get", "pods", "-o", "wide"])).toMatch(/ 0\/1 +Completed +0 /);
  });

  test("get -w shows changes as they come", async () => {
    const watch = kubectl.start(["get", "configmaps", "-w", "-o", "name"]);
    await watch.until((out) => out.includes("configmap/kube-root-ca.crt"));
    await kubectl.must(["create", "-f", "-"], {
      input: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "watched" } }),
    });
    await watch.until((out) => out.includes("configmap/watched"));
    await watch.stop();
  });

  test("describe shows spec, status and events", async () => {
    const told = () => kubectl.must(["describe", "wf", "diamond"]);
    // Events are written beside the run, and its end is told of last.
    await expect.poll(told).toContain("WorkflowEnded");
    const out = await told();
    expect(out).toMatch(/^Name: +diamond$/m);
    for (const reason of ["WorkflowCreated", "WorkflowStarted", "WorkflowEnded"]) expect(out).toContain(reason);
  });

  test("logs -f follows a Job to its end", async () => {
    await kubectl.must(["apply", "-f", "-"], { input: JSON.stringify(slowJob("follow")) });
    // kubectl waits for a pod, not for the start of its container, before which there is no log to follow.
    const follow = async () => (await kubectl.run(["logs", "-f", "job/follow", "--pod-running-timeout=30s"])).out;
    await expect.poll(follow).toBe("one\ntwo\nthree\n");
    await kubectl.must(["wait", "--for=condition=complete", "job/follow", "--timeout=30s"]);
  });

  test("events are listed, the workflow's own among them", async () => {
    const words = isOld ? ["get", "events"] : ["events", "--for", "workflow.slipway.dev/diamond"];
    await expect.poll(() => kubectl.must(words)).toContain("WorkflowEnded");
  });

  test("explain prints help on the steps of a workflow", async () => {
    const out = await kubectl.must(["explain", "workflow.spec.steps"]);
    expect(out).toMatch(/jobTemplate/);
    expect(out).toMatch(/dependencies/);
  });

  test("a ScheduledWorkflow is applied and shown, and a wrong one is refused with the place", async () => {
    await kubectl.must(["apply", "-f", "examples/workflow/nightly.yaml"]);
    await kubectl.must(["wait", "--for=condition=Ready", "swf/nightly", "--timeout=60s"]);
    expect(await kubectl.must(["get", "swf"])).toMatch(
      /^NAME +SCHEDULE +SUSPEND +ACTIVE +LAST SCHEDULE +NEXT +AGE\nnightly +30 2 \* \* \* \(Europe\/Berlin\) +false +0 .*T0[01]:30:00Z /,
    );
    const example = await readFile("examples/workflow/nightly.yaml", "utf8");
    const wrong = await kubectl.run(["apply", "-f", "-"], {
      input: example.replace("30 2", "30 24").replace("[dump]", "[dmp]"),
    });
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain('spec.schedule: hour: expected values from 0 to 23, found "24"');
    expect(wrong.err).toContain("spec.workflowTemplate.spec.steps.verify.dependencies[0]");
    await kubectl.must(["patch", "swf", "nightly", "--type=merge", "-p", '{"spec":{"suspend":true}}']);
    await kubectl.must(["wait", "--for=condition=Ready=false", "swf/nightly", "--timeout=60s"]);
    expect(await kubectl.must(["describe", "swf", "nightly"])).toMatch(/Reason: +Suspended/);
    await kubectl.must(["delete", "swf", "nightly"]);
  });

  test("edit, patch, label and annotate change objects", async () => {
    const editor = join(place.directory, "editor.sh");
    await writeFile(editor, '#!/bin/sh\nsed -i "s/before/after/" "$1"\n');
    await chmod(editor, 0o755);
    await kubectl.must(["create", "-f", "-"], {
      input: JSON.stringify({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "edited" },
        data: { key: "before" },
      }),
    });
    await kubectl.must(["edit", "cm", "edited"], { env: { KUBE_EDITOR: editor, EDITOR: editor } });
    expect(await kubectl.must(["get", "cm", "edited", "-o", "jsonpath={.data.key}"])).toBe("after");
    await kubectl.must(["patch", "cm", "edited", "--type", "merge", "-p", '{"data":{"merged":"yes"}}']);
    await kubectl.must(["patch", "cm", "edited", "-p", '{"data":{"strategic":"yes"}}']);
    await kubectl.must([
      "patch",
      "cm",
      "edited",
      "--type",
      "json",
      "-p",
      '[{"op":"add","path":"/data/json","value":"yes"}]',
    ]);
    expect(JSON.parse(await kubectl.must(["get", "cm", "edited", "-o", "json"]))).toMatchObject({
      data: { key: "after", merged: "yes", strategic: "yes", json: "yes" },
    });
    await kubectl.must(["label", "wf", "diamond", "team=blue"]);
    expect(await kubectl.must(["get", "wf", "-l", "team=blue", "-o", "name"])).toBe("workflow.slipway.dev/diamond\n");
    await kubectl.must(["annotate", "wf", "diamond", "note=kept"]);
  });

  test("delete takes an object and what it owns", async () => {
    await kubectl.must(["apply", "-f", "-"], { input: JSON.stringify(slowJob("doomed")) });
    await kubectl.must(["wait", "--for=condition=complete", "job/doomed", "--timeout=30s"]);
    expect(await kubectl.must(["delete", "job", "doomed"])).toContain("deleted");
    // Collected in the background.
    await expect.poll(() => kubectl.must(["get", "pods", "-l", "job-name=doomed", "-o", "name"])).toBe("");
    expect((await kubectl.run(["get", "job", "doomed"])).err).toContain('jobs.batch "doomed" not found');
  });

  test("delete ends a running Pod within its grace, and the Pod is gone", async () => {
    const spec = { containers: [{ name: "main", image: "busybox", command: ["sleep", "100"] }] };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "sleeper" }, spec };
    await kubectl.must(["create", "-f", "-"], { input: JSON.stringify(pod) });
    await kubectl.must(["wait", "--for=condition=Ready", "pod/sleeper", "--timeout=30s"]);
    await kubectl.must(["delete", "pod", "sleeper", "--grace-period=1", "--timeout=30s"]);
    expect((await kubectl.run(["get", "pod", "sleeper"])).err).toContain('pods "sleeper" not found');
  });

  test("a document that is wrong is refused with every problem and its place", async () => {
    const wrong = {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name: "wrong" },
      spec: { steps: { a: { dependencies: ["b"] }, c: { dependencies: ["c"], container: { image: "x" } } } },
    };
    const { code, err } = await kubectl.run(["apply", "-f", "-"], { input: JSON.stringify(wrong) });
    expect(code).toBe(1);
    expect(err).toContain("spec.steps.a: ");
    expect(err).toContain("cycle: c -> c");
    expect(err).toContain('no step "b"');
  });

  test("get --raw reads health", async () => {
    expect(await kubectl.must(["get", "--raw", "/readyz"])).toBe("ok");
    expect(await kubectl.must(["get", "--raw", "/readyz?verbose"])).toContain("[+]controllers ok");
  });

  test("get --raw reads what server, store, controllers, Pods and workflows have counted", async () => {
    const text = await kubectl.must(["get", "--raw", "/metrics"]);
    for (const line of [
      /^slipway_apiserver_requests_total\{verb="create",resource="workflows",subresource="",code="201"\} 1$/m,
      /^slipway_store_db_file_bytes [1-9]\d+$/m,
      /^slipway_controller_reconciles_total\{controller="workflow",outcome="success"\} [1-9]\d*$/m,
      /^slipway_controller_queue_depth\{controller="pod-runner"\} \d+$/m,
      /^slipway_controller_reconcile_duration_seconds_bucket\{controller="job",le="\+Inf"\} [1-9]\d*$/m,
      /^slipway_pod_runner_pods\{phase="Succeeded"\} [1-9]\d*$/m,
      /^slipway_pod_runner_start_duration_seconds_count [1-9]\d*$/m,
      /^slipway_workflow_runs_total\{outcome="Succeeded"\} 1$/m,
      /^slipway_workflow_steps_total\{kind="\w+",outcome="Succeeded",reason=""\} 5$/m,
    ])
      expect(text).toMatch(line);
  });

  // After what is counted above: its runs would be counted, too.
  test("limits are explained and shown with who holds them, and one in use goes with its last holder", async () => {
    expect(await kubectl.must(["explain", "workflow.spec.steps.locks"])).toContain("Locks that the step holds");
    expect(await kubectl.must(["explain", "cl.status.holders"])).toContain("Step that holds it");
    const locked = (name: string, seconds: number) =>
      JSON.stringify({
        apiVersion: "slipway.dev/v1alpha1",
        kind: "Workflow",
        metadata: { name },
        spec: {
          activeDeadlineSeconds: 120,
          steps: {
            a: { container: { image: "busybox", command: ["sleep", `${seconds}`] }, locks: [{ name: "site" }] },
          },
        },
      });
    await kubectl.must(["apply", "-f", "-"], { input: locked("holder", 300) });
    // Kubectls wait for no object that is not there yet, and older ones for no field.
    const shown = async (object: string, path: string) =>
      (await kubectl.run(["get", object, "-o", `jsonpath={.status.${path}}`])).out;
    await expect.poll(() => shown("cl/site", "held")).toBe("1");
    await kubectl.must(["apply", "-f", "-"], { input: locked("waiter", 0) });
    await expect.poll(() => shown("wf/waiter", "statuses.a.message")).toBe('lock "site" is held by holder/a');
    expect(await kubectl.must(["get", "concurrencylimits", "-o", "wide"])).toMatch(
      /^NAME +LIMIT +HELD +HOLDERS +AGE\nsite +1 +1 +holder +/,
    );
    await kubectl.must(["delete", "cl", "site", "--wait=false"]);
    expect(await kubectl.must(["get", "cl", "site", "-o", "jsonpath={.status.holders[*].name}"])).toBe("holder");
    await kubectl.must(["delete", "wf", "holder"]);
    await kubectl.must(["wait", "--for=condition=Complete", "wf/waiter", "--timeout=60s"]);
    await kubectl.must(["delete", "wf", "waiter"]);
  });
});

const slowJob = (name: string) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name },
  spec: {
    template: {
      spec: {
        restartPolicy: "Never",
        containers: [
          {
            name: "main",
            image: "busybox",
            command: ["sh", "-c", "for n in one two three; do echo $n; sleep 0.1; done"],
          },
        ],
      },
    },
  },
});
