import { afterAll, beforeAll, expect, test } from "vitest";
import type { TemplateHost } from "./template-host.ts";
import { realHost } from "./testing/index.ts";

let host: TemplateHost;

beforeAll(async () => {
  host = await realHost();
});

afterAll(() => host.close());

test("a template becomes the plan that its document says", async () => {
  const text = `
name: {{ .device }}
global_timeout: 60
tasks:
- name: install
  worker: {{ (index .Hardware.Interfaces 0).DHCP.MAC }}
  volumes: [/dev:/dev]
  actions:
  - name: write
    image: quay.io/tinkerbell/actions/writefile:latest
    timeout: 90
    on-timeout: [echo]
    environment: { MODE: 0644, DEST: {{ formatPartition (index .Hardware.Disks 0) 1 }} }
`;
  const hardware = {
    spec: { disks: [{ device: "/dev/nvme0n1" }], interfaces: [{ dhcp: { mac: "00:00:00:00:00:01" } }] },
  };
  expect(await host.render({ id: "wf", text, values: { device: "a" }, hardware })).toEqual({
    ok: true,
    value: {
      version: "",
      name: "a",
      globalTimeout: 60,
      tasks: [
        {
          name: "install",
          worker: "00:00:00:00:00:01",
          volumes: ["/dev:/dev"],
          environment: {},
          actions: [
            {
              name: "write",
              image: "quay.io/tinkerbell/actions/writefile:latest",
              timeout: 90,
              command: [],
              volumes: [],
              environment: { MODE: "0644", DEST: "/dev/nvme0n1p1" },
              pid: "",
              namespaces: { pid: "", network: "" },
            },
          ],
        },
      ],
      overwritten: [],
      ignored: [{ path: "tasks[0].actions[0].on-timeout", line: 12 }],
    },
  });
});

test("a failure is a result, in Go's words and with its place", async () => {
  const message =
    'template: workflow-template:1:8: executing "workflow-template" at <.missing>: map has no entry for key "missing"';
  expect(await host.render({ id: "wf", text: "name: {{.missing}}", values: {} })).toEqual({
    ok: false,
    error: {
      kind: "template",
      message: `error rendering template: failed to parse template with ID wf: err: ${message}`,
      problems: [{ code: "template-execution", message, line: 1, column: 9 }],
    },
  });
});
