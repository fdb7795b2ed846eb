import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { root } from "#test/support/slipway.ts";

// A template in the shape of those that people start with: an Ubuntu image on the first disk, then files and commands in it.

let host: TemplateHost;

beforeAll(async () => {
  host = await realHost();
});

afterAll(() => host.close());

const text = readFileSync(join(root, "test/conformance/tinkerbell/testdata/ubuntu.yaml"), "utf8");

test("an Ubuntu template names its actions, and keeps the texts of numbers and devices", async () => {
  const rendered = await host.render({
    id: "playground",
    text,
    values: { device_1: "08:00:27:9e:f5:3a", server: "192.168.56.4" },
    hardware: { metadata: { name: "machine1" }, spec: { disks: [{ device: "/dev/nvme0n1" }] } },
  });
  if (!rendered.ok) throw new Error(rendered.error.message);
  const { name, globalTimeout, tasks, ignored, overwritten } = rendered.value;
  expect({ name, globalTimeout, ignored, overwritten }).toEqual({
    name: "ubuntu",
    globalTimeout: 9800,
    ignored: [],
    overwritten: [],
  });
  const [task] = tasks;
  expect(task).toMatchObject({ name: "os installation", worker: "08:00:27:9e:f5:3a" });
  expect(task?.volumes).toEqual(["/dev:/dev", "/dev/console:/dev/console", "/lib/firmware:/lib/firmware:ro"]);
  const [stream, grow, netplan, kexec] = task?.actions ?? [];
  expect(task?.actions.map((action) => action.name)).toEqual([
    "stream image",
    "grow partition",
    "write netplan",
    "kexec",
  ]);
  expect(stream).toMatchObject({ timeout: 9600, environment: { DEST_DISK: "/dev/nvme0n1", COMPRESSED: "true" } });
  expect(grow?.environment).toMatchObject({
    BLOCK_DEVICE: "/dev/nvme0n1p1",
    CHROOT: "y",
    CMD_LINE: "growpart /dev/nvme0n1 1 && resize2fs /dev/nvme0n1p1",
  });
  expect(netplan?.environment).toMatchObject({ UID: "0", GID: "0", MODE: "0644", DIRMODE: "0755" });
  expect(netplan?.environment["CONTENTS"]).toMatch(/^network:\n {2}version: 2\n/);
  expect(kexec).toMatchObject({ pid: "host", environment: { WAIT_SECONDS: "10" } });
});
