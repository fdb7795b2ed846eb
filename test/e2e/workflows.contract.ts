import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rounds } from "#test/support/rounds.ts";
import { slipway } from "#test/support/slipway.ts";
import { openPods, podOf, type PodPlace, shell } from "#test/support/pods.ts";

/** A step that runs a shell script to its end, tried once. */
const script = (text: string, more: object = {}) => {
  const { name: _main, ...container } = shell("main", text);
  return { container, ...more };
};

/** Files below a directory that hold a text, but for the store, which holds the Secrets themselves. */
async function filesWith(directory: string, text: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found: string[] = [];
  for (const file of files) {
    if (relative(directory, file).startsWith("store")) continue;
    const content = await readFile(file).catch(() => Buffer.alloc(0));
    if (content.includes(text)) found.push(relative(directory, file));
  }
  return found;
}

/** Runs until it is asked to end, which a plain sleep that is the first process of its container does not hear. */
const endless = "trap 'exit 143' TERM; sleep 600 & wait";

/**
 * What the acceptance list says of workflows where programs really run, on any runtime: real kubectl, real programs. `environment` of the
 * server, once it is to start. Waits are for what happens, so that a slow machine is only slow.
 */
export function workflowContract(
  runtime: "process" | "docker",
  environment: () => Readonly<Record<string, string>> = () => ({}),
): void {
  describe(`workflows on the ${runtime} runtime`, () => {
    let place: PodPlace;
    beforeAll(async () => {
      place = await openPods(runtime, environment());
    });
    afterAll(async () => {
      await place.kubectl.run(["delete", "wf", "--all", "--wait=false"]);
      await place.close();
    });

    /** What is the same on every runtime is tried on one, and in the long form on both. */
    const ofWorkflows = test.runIf(rounds(runtime === "process", true));

    const start = (name: string, spec: object) =>
      place.apply({ apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name }, spec });
    const waitFor = (name: string, path: string, value: string) =>
      place.kubectl.must(["wait", `wf/${name}`, `--for=jsonpath={.status.${path}}=${value}`, "--timeout=60s"]);
    const status = async (name: string, path: string) => place.read(`wf/${name}`, `.status.${path}`);
    const children = async (kind: "jobs" | "pods", name: string): Promise<readonly string[]> =>
      (await place.kubectl.must(["get", kind, "-l", `slipway.dev/workflow=${name}`, "-o", "name"]))
        .split("\n")
        .filter(Boolean);
    const logs = (name: string, step: string, more = "") =>
      place.kubectl.must(["logs", "-l", `slipway.dev/workflow=${name},slipway.dev/step=${step}${more}`]);

    test("line 1: a diamond in the order of its edges, with two and three at once", async () => {
      const steps = {
        one: script("echo one"),
        two: script("echo two; sleep 1", { dependencies: ["one"] }),
        three: script("echo three; sleep 1", { dependencies: ["one"] }),
        four: script("echo four", { dependencies: ["two", "three"] }),
        alone: script("echo alone"),
      };
      await start("diamond", { steps });
      await place.kubectl.must(["wait", "wf/diamond", "--for=condition=Complete", "--timeout=60s"]);
      const at = async (step: string, end: "start" | "finish") =>
        Date.parse(await status("diamond", `statuses.${step}.${end}Time`));
      for (const [before, after] of [
        ["one", "two"],
        ["one", "three"],
        ["two", "four"],
        ["three", "four"],
      ] as const)
        expect(await at(after, "start")).toBeGreaterThanOrEqual(await at(before, "finish"));
      expect(await at("two", "start")).toBeLessThan(await at("three", "finish"));
      expect(await at("three", "start")).toBeLessThan(await at("two", "finish"));
      expect(await at("alone", "start")).toBeLessThan(await at("one", "finish"));
      expect(await status("diamond", "statuses.*.complete")).toBe("true true true true true");
      expect(await status("diamond", "completionTime")).toMatch(/^\d{4}-/);
    });

    ofWorkflows("line 2: kubectl get jobs -l lists exactly the Jobs of a workflow", async () => {
      await start("marked", { steps: { a: script("true"), b: script("true") } });
      await waitFor("marked", "phase", "Succeeded");
      const made = await children("jobs", "marked");
      const expected = [expect.stringMatching(/marked-a-/), expect.stringMatching(/marked-b-/)];
      expect([...made].sort()).toEqual(expected);
      const [first = ""] = made;
      const uid = await place.read("wf/marked", ".metadata.uid");
      expect(await place.read(first, ".metadata.labels.slipway\\.dev/workflow-uid")).toBe(uid);
      expect(await place.read(first, ".metadata.labels.slipway\\.dev/attempt")).toBe("1");
      expect(await place.read(first, ".metadata.ownerReferences[*].uid")).toBe(uid);
    });

    ofWorkflows("line 5: a deadline ends a sleeping Job and its program", async () => {
      await start("late", {
        activeDeadlineSeconds: 3,
        steps: { sleep: script(endless), later: script("true", { dependencies: ["sleep"] }) },
      });
      await place.kubectl.must(["wait", "wf/late", "--for=condition=Failed", "--timeout=60s"]);
      expect(await status("late", "conditions[?(@.type=='Failed')].reason")).toBe("DeadlineExceeded");
      expect(await status("late", "statuses.*.phase")).toBe("Canceled Canceled");
      expect(await children("jobs", "late")).toEqual([]);
      await expect.poll(() => children("pods", "late")).toEqual([]);
      const [begun, ended] = [await status("late", "startTime"), await status("late", "completionTime")];
      expect(Date.parse(ended) - Date.parse(begun)).toBeGreaterThanOrEqual(3_000);
    });

    ofWorkflows("line 6: kubectl delete while it runs; with --cascade=orphan the Jobs stay", async () => {
      const steps = { sleep: script(endless) };
      for (const name of ["gone", "orphan"]) {
        await start(name, { steps });
        await waitFor(name, "statuses.sleep.phase", "Running");
      }
      await place.kubectl.must(["delete", "wf", "gone"]);
      expect(await children("jobs", "gone")).toEqual([]);
      await expect.poll(() => children("pods", "gone")).toEqual([]);
      // Events are written beside the way of what they tell of.
      await expect.poll(() => place.events("gone")).toContain("WorkflowDeleted");
      await place.kubectl.must(["delete", "wf", "orphan", "--cascade=orphan"]);
      const [left = "", ...more] = await children("jobs", "orphan");
      expect(more).toEqual([]);
      expect(await place.read(left, ".metadata.ownerReferences")).toBe("");
      expect(await place.read(left, ".status.active")).toBe("1");
      await place.kubectl.must(["delete", left, "--wait=false"]);
    });

    ofWorkflows("line 16: a Job that is deleted by hand, with and without Lost among what is tried again", async () => {
      const retry = { limit: 1, initialSeconds: 1, on: ["Lost"] };
      // The second attempt ends by itself.
      const sleeping = script(`test "$SLIPWAY_ATTEMPT" = 2 && exit; ${endless}`);
      await start("lost", { steps: { once: sleeping, again: { ...sleeping, retry } } });
      for (const step of ["once", "again"]) await waitFor("lost", `statuses.${step}.phase`, "Running");
      await place.kubectl.must(["delete", "jobs", "-l", "slipway.dev/workflow=lost", "--wait=false"]);
      await waitFor("lost", "phase", "Failed");
      expect(await status("lost", "statuses.once.reason")).toBe("ChildDeleted");
      expect(await status("lost", "statuses.again.phase")).toBe("Succeeded");
      expect(await status("lost", "statuses.again.attempt")).toBe("2");
    });

    ofWorkflows("line 17: two failures and a success are three Jobs, whose logs can all be read", async () => {
      const retry = { limit: 2, initialSeconds: 1 };
      const flaky = script('echo "attempt $SLIPWAY_ATTEMPT"; test "$SLIPWAY_ATTEMPT" = 3', { retry });
      await start("flaky", { steps: { a: flaky } });
      await waitFor("flaky", "phase", "Succeeded");
      expect(await children("jobs", "flaky")).toHaveLength(3);
      for (const attempt of ["1", "2", "3"])
        expect(await logs("flaky", "a", `,slipway.dev/attempt=${attempt}`)).toBe(`attempt ${attempt}\n`);
    });

    test("line 19: outputs pass through a chain of three, and one that is missing fails its step", async () => {
      const takes = (from: string, more: object = {}) => {
        const { container } = script('echo "got $VALUE"; echo "value=$VALUE!" >"$SLIPWAY_OUTPUT"');
        const env = [{ name: "VALUE", value: `\${{ steps.${from}.outputs.value }}` }];
        return { container: { ...container, env }, dependencies: [from], ...more };
      };
      const outputs = { value: {} };
      const steps = {
        one: script('echo value=hello >"$SLIPWAY_OUTPUT"', { outputs }),
        two: takes("one", { outputs }),
        three: takes("two"),
        silent: script("true", { outputs }),
      };
      await start("outputs", { steps });
      await waitFor("outputs", "phase", "Failed");
      expect(await logs("outputs", "three")).toBe("got hello!\n");
      expect(await status("outputs", "statuses.three.phase")).toBe("Succeeded");
      expect(await status("outputs", "statuses.silent.reason")).toBe("OutputMissing");
    });

    test("outputs of a step have 32 KiB of room, those of a workflow 256 KiB", async () => {
      const outputs = { value: {} };
      // `{"value":"…"}` is twelve bytes more than the value.
      const writes = (bytes: number, more: object = {}) =>
        script(`printf "value=%0${bytes - 12}d" 0 >"$SLIPWAY_OUTPUT"`, { outputs, ...more });
      const reader = (from: string) => {
        const { container } = script("echo ${#VALUE}");
        const env = [{ name: "VALUE", value: `\${{ steps.${from}.outputs.value }}` }];
        return { container: { ...container, env }, dependencies: [from] };
      };
      const noisy = 'printf "value=1\\nother=%040000d" 0 >"$SLIPWAY_OUTPUT"';
      const step = {
        fits: writes(32_768),
        over: writes(32_769),
        read: reader("fits"),
        cut: script(noisy, { outputs }),
      };
      await start("large", { steps: { ...step, failing: script('printf "%040000d" 0 >"$SLIPWAY_OUTPUT"; exit 3') } });
      await waitFor("large", "phase", "Failed");
      expect(await status("large", "statuses.fits.phase")).toBe("Succeeded");
      expect(await logs("large", "read")).toBe(`${32_768 - 12}\n`);
      for (const name of ["over", "cut"])
        expect(await status("large", `statuses.${name}.reason`), name).toBe("OutputTooLarge");
      expect(await status("large", "statuses.cut.message")).toContain("at most 32768 bytes");
      expect((await status("large", "statuses.failing.message")).length).toBeLessThan(1_100);
      const env = { SLIPWAY_KUBECONFIG: place.server.kubeconfig };
      for (const words of [
        ["describe", "large"],
        ["why", "large"],
      ])
        expect((await slipway(words, { env })).out.length, words[0]).toBeLessThan(10_000);
      expect((await place.kubectl.must(["get", "events", "-o", "json"])).includes("0".repeat(2_000))).toBe(false);

      const eight = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`s${n}`, writes(32_768)]));
      const all = { steps: { ...eight, last: writes(13, { dependencies: Object.keys(eight) }) } };
      await start("together", all);
      await waitFor("together", "phase", "Failed");
      const phases = (await status("together", "statuses.*.phase")).split(" ").sort();
      expect(phases).toEqual(["Failed", ...Array<string>(8).fill("Succeeded")]);
      expect(await status("together", "statuses.last.message")).toContain("262157 bytes together, at most 262144");
    });

    test("a Pod that nobody made for its outputs keeps 4 KiB of its message, as in Kubernetes", async () => {
      await place.apply(podOf("wordy", [shell("main", 'printf "%05000d" 0 >"$SLIPWAY_OUTPUT"')]));
      await place.waitFor("wordy", ".status.phase", "Succeeded");
      const message = await place.read("pod/wordy", ".status.containerStatuses[0].state.terminated.message");
      expect(message).toHaveLength(4_096);
    });

    test("a secret parameter gets into the variables of containers, and nowhere else", async () => {
      const value = "correct-horse-battery";
      await place.apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "keys" }, stringData: { token: value } });
      const env = [{ name: "TOKEN", valueFrom: "${{ params.token }}" }];
      const withToken = (text: string, more: object = {}) => {
        const { container } = script(text);
        return { container: { ...container, env }, ...more };
      };
      const params = [{ name: "token", secret: true }];
      const whole = 'echo "it is $TOKEN"; printf "in two: ${TOKEN%ttery}"; sleep 0.4; echo "${TOKEN#correct-horse-ba}"';
      const said = 'printf "%s\\n" "{\\"length\\": ${#TOKEN}, \\"said\\": \\"a $TOKEN\\"}" >"$SLIPWAY_OUTPUT"';
      const steps = {
        a: withToken(`${whole}; ${said}`, { outputs: { length: {}, said: {} } }),
        b: withToken('echo "$TOKEN" >&2; echo "no: $TOKEN" >"$SLIPWAY_OUTPUT"; exit 3', { onFailure: "Continue" }),
        c: {
          workflow: {
            spec: { params, steps: { d: withToken("echo $TOKEN") } },
            arguments: { token: "${{ params.token }}" },
          },
        },
      };
      const token = { secretKeyRef: { name: "keys", key: "token" } };
      await start("confidential", { params, arguments: { token }, steps, outputs: { said: "steps.a.outputs.said" } });
      await waitFor("confidential", "phase", "Succeeded");
      expect(await status("confidential", "outputs.said")).toBe("a ***");
      expect(await status("confidential", "statuses.a.outputs.length")).toBe("21");
      expect(await status("confidential", "statuses.b.message")).toBe("exit code 3: no: ***");
      expect(await logs("confidential", "a")).toBe("it is ***\nin two: ***\n");
      const env_ = { SLIPWAY_KUBECONFIG: place.server.kubeconfig };
      const told = await slipway(["logs", "confidential"], { env: env_ });
      expect(told.out.split("\n").sort()).toEqual(["", "a | in two: ***", "a | it is ***", "b | ***", "c/d | ***"]);
      const kinds = (await place.kubectl.must(["api-resources", "--verbs=list", "-o", "name"])).trim().split("\n");
      const all = await place.kubectl.must(["get", kinds.join(), "--all-namespaces", "-o", "json"]);
      const { items } = JSON.parse(all) as { items: { kind: string }[] };
      const forms = [value, Buffer.from(value).toString("base64")];
      const holders = items.filter((item) => forms.some((form) => JSON.stringify(item).includes(form)));
      expect(new Set(items.map(({ kind }) => kind)).size).toBeGreaterThan(10);
      expect(holders.map(({ kind }) => kind)).toEqual(["Secret"]);
      for (const run of [
        ["describe", "confidential"],
        ["get", "wf", "confidential", "-o", "yaml"],
        ["why", "confidential"],
      ])
        expect((await slipway(run, { env: env_ })).out, run[0]).not.toContain(value);
      expect(place.server.log()).not.toContain(value);
      expect(await filesWith(place.server.directory, "it is ***")).not.toEqual([]);
      for (const form of forms) expect(await filesWith(place.server.directory, form)).toEqual([]);
    });

    ofWorkflows("a key of a Secret that is not there is waited for, and told of", async () => {
      const { container } = script('echo "$TOKEN"');
      const step = { container: { ...container, env: [{ name: "TOKEN", valueFrom: "${{ params.token }}" }] } };
      const token = { secretKeyRef: { name: "late", key: "token" } };
      const params = [{ name: "token", secret: true, default: token }];
      await start("patient", { params, steps: { a: step } });
      const env = { SLIPWAY_KUBECONFIG: place.server.kubeconfig };
      const why = async () => (await slipway(["why", "patient"], { env })).out;
      await expect.poll(why).toContain('secret "late" not found');
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "late" } };
      await place.apply({ ...secret, stringData: { other: "x" } });
      await expect.poll(why).toMatch(/key "?token"?/);
      await place.apply({ ...secret, stringData: { token: "hunter22" } });
      await waitFor("patient", "phase", "Succeeded");
      expect(await logs("patient", "a")).toBe("***\n");
    });

    test("line 20: what is the shell's reaches the shell", async () => {
      const text = "echo $(echo shell) '{{ x }}' ${HOME:+home} ${{ params.n }}";
      const params = [{ name: "n", type: "integer", default: 3 }];
      await start("shell", { params, steps: { a: script(text) } });
      await waitFor("shell", "phase", "Succeeded");
      expect(await logs("shell", "a")).toMatch(/^shell \{\{ x \}\}(?: home)? 3\n$/);
    });

    ofWorkflows("line 27: final steps after success, failure, cancel and deadline", async () => {
      const report = {
        container: { ...script("echo $PHASE").container, env: [{ name: "PHASE", value: "${{ run.phase }}" }] },
      };
      const spec = (text: string, more: object = {}) => ({ steps: { a: script(text) }, finally: { report }, ...more });
      await start("fine", spec("true"));
      await start("bad", spec("exit 1"));
      await start("slow", spec(endless, { activeDeadlineSeconds: 2 }));
      await start("broken", { ...spec("true"), finally: { report: script("exit 1") } });
      await start("stopped", spec(endless));
      await waitFor("stopped", "statuses.a.phase", "Running");
      const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "stopped" };
      const metadata = { name: "stop" };
      await place.apply({
        ...target,
        kind: "RunAction",
        name: undefined,
        metadata,
        spec: { target, action: "cancel" },
      });
      const ends = { fine: "Succeeded", bad: "Failed", slow: "Failed", stopped: "Canceled" };
      for (const [name, phase] of Object.entries(ends)) {
        await waitFor(name, "phase", phase);
        expect(await logs(name, "report"), name).toBe(`${phase}\n`);
      }
      await waitFor("broken", "phase", "Failed");
      expect(await status("broken", "conditions[?(@.type=='Failed')].reason")).toBe("FinalStepFailed");
    });

    ofWorkflows("line 35: documents of workflow.k8s.io, converted and applied, run in the same order", async () => {
      const job = (text: string) => ({
        spec: {
          template: {
            metadata: { labels: { app: "mine" } },
            spec: { restartPolicy: "Never", containers: [shell("main", text)] },
          },
        },
      });
      const selector = { matchLabels: { app: "old" } };
      const steps = [
        { name: "last", dependencies: ["left", "right"], jobTemplate: job("true") },
        { name: "left", dependencies: ["first"], jobTemplate: job("true") },
        { name: "right", dependencies: ["first"], jobTemplate: job("true") },
        { name: "first", jobTemplate: job("true") },
      ];
      const old = { apiVersion: "workflow.k8s.io/v1", metadata: { name: "old" } };
      const documents = [
        { ...old, kind: "Workflow", spec: { selector, steps } },
        {
          ...old,
          kind: "CronWorkflow",
          spec: {
            schedule: "0 3 * * *",
            workflowTemplate: { metadata: { name: "nightly" }, spec: { selector, steps } },
          },
        },
      ];
      const converted = await slipway(["convert", "-"], {
        input: documents.map((one) => JSON.stringify(one)).join("\n---\n"),
      });
      expect(converted.code, converted.err).toBe(0);
      const applied = await place.kubectl.must(["apply", "-f", "-"], { input: converted.out });
      expect(applied).toBe("workflow.slipway.dev/old created\nscheduledworkflow.slipway.dev/old created\n");
      await waitFor("old", "phase", "Succeeded");
      const starts = await Promise.all(
        steps.map(async ({ name }) => [Date.parse(await status("old", `statuses.${name}.startTime`)), name] as const),
      );
      const order = starts.toSorted(([a], [b]) => a - b).map(([, name]) => name);
      expect([order[0], order.at(-1)]).toEqual(["first", "last"]);
      const labelled = async (kind: string, app: string) =>
        (await place.kubectl.must(["get", kind, "-l", `slipway.dev/workflow=old,app=${app}`, "-o", "name"]))
          .trim()
          .split("\n");
      expect(await labelled("jobs", "old")).toHaveLength(4);
      expect(await labelled("pods", "mine")).toHaveLength(4);
      await place.kubectl.must(["delete", "swf", "old"]);
      expect(await place.kubectl.must(["explain", "wf.spec.steps"])).toContain("FIELD");
      expect(await place.kubectl.must(["explain", "wf.spec.steps.dependencies"])).toContain("DESCRIPTION:");
    });
  });
}
