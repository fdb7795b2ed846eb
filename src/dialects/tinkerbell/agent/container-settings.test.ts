import { expect, test } from "vitest";
import { containerName, containerSettings, isOwnContainer, registryOf } from "./container-settings.ts";
import { agentAction, agentWorkflow, execution } from "./testing/executions.ts";

const traits = { agentId: "52:54:00:00:00:01", isPrivileged: true, files: undefined };
const settingsOf = (more: Parameters<typeof agentAction>[1], given = traits) =>
  containerSettings(execution(agentWorkflow("w", agentAction("one", more)), 0, 2), given);

test("an action's words become the engine's", () => {
  const more = {
    cmd: "/usr/bin/dd",
    args: ["if=a", "of=b"],
    env: { B: "2", A: "1=1" },
    volumes: ["/dev:/dev", "cache:/cache:ro"],
    pid: "host",
    network: "host",
  };
  const files = { reason: "/s/failure-reason", message: "/s/failure-message" };
  expect(
    containerSettings(execution(agentWorkflow("w", agentAction("one", more)), 0, 2), { ...traits, files }),
  ).toEqual({
    Image: "busybox:1",
    Entrypoint: ["/usr/bin/dd"],
    Cmd: ["if=a", "of=b"],
    Env: ["A=1=1", "B=2"],
    Tty: false,
    AttachStdout: true,
    AttachStderr: true,
    Labels: {
      "slipway.dev/workflow-id": "default/w/uid-w",
      "slipway.dev/action-id": "id-one",
      "slipway.dev/agent-id": "52:54:00:00:00:01",
      "slipway.dev/attempt": "2",
    },
    HostConfig: {
      Binds: [
        "/dev:/dev",
        "cache:/cache:ro",
        "/s/failure-reason:/tinkerbell/failure-reason",
        "/s/failure-message:/tinkerbell/failure-message",
      ],
      PidMode: "host",
      NetworkMode: "host",
      Privileged: true,
      LogConfig: { Type: "json-file", Config: { "max-size": "5m", "max-file": "2" } },
      RestartPolicy: { Name: "no" },
    },
  });
});

test("what an action does not say is the image's and the engine's", () => {
  const plain = settingsOf({}, { ...traits, isPrivileged: false });
  expect(Object.keys(plain)).not.toContain("Entrypoint");
  expect(Object.keys(plain)).not.toContain("Cmd");
  expect(plain["HostConfig"]).toMatchObject({ Binds: [], Privileged: false });
  expect(Object.keys(plain["HostConfig"] ?? {})).not.toContain("PidMode");
  expect(Object.keys(plain["HostConfig"] ?? {})).not.toContain("NetworkMode");
});

test("the name is of what an engine takes, and the same for every attempt", () => {
  const named = (name: string, attempt: number) =>
    containerName(execution(agentWorkflow("w", agentAction(name, { id: "01J/ä" })), 0, attempt));
  expect(named("stream image!", 1)).toBe("tinkerbell_stream_image__01J__");
  expect(named("one", 1)).toBe(named("one", 2));
});

test("only containers with our label are ours", () => {
  expect(isOwnContainer({ "slipway.dev/agent-id": "a" })).toBe(true);
  expect(isOwnContainer({ "dev.slipway.task": "a" })).toBe(false);
});

test.each([
  ["busybox", "docker.io"],
  ["library/busybox:1", "docker.io"],
  ["localhost/a", "localhost"],
  ["127.0.0.1:5000/a/b:1", "127.0.0.1:5000"],
  ["quay.io/tinkerbell/actions@sha256:0000", "quay.io"],
])("%s is fetched from %s", (image, registry) => {
  expect(registryOf(image)).toBe(registry);
});
