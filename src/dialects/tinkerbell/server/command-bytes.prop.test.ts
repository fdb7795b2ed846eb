import fc from "fast-check";
import { expect, test } from "vitest";
import { create, fromBinary, toBinary, workflowV2 } from "#kernel/rpc/index.ts";
import type { StartedAction } from "./command-bytes.ts";
import { commandBytes } from "./commands.ts";

const schema = workflowV2.GetWorkflowsResponseSchema;
// Short and long ones, of one byte a character and of more, and empty ones.
const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.string({ minLength: 100, maxLength: 5000 }));
const optional = fc.option(text, { nil: undefined });

const action: fc.Arbitrary<StartedAction> = fc
  .record({
    id: text,
    name: text,
    image: text,
    cmd: optional,
    args: fc.array(text, { maxLength: 4 }),
    env: fc.dictionary(fc.string(), text, { maxKeys: 6, noNullPrototype: true }),
    volumes: fc.array(text, { maxLength: 4 }),
    ns: fc.option(fc.record({ pid: optional, net: optional }), { nil: undefined }),
  })
  .map(({ cmd, ns, ...rest }) => ({
    ...rest,
    ...(cmd === undefined ? {} : { cmd }),
    ...(ns === undefined
      ? {}
      : { ns: { ...(ns.pid === undefined ? {} : { pid: ns.pid }), ...(ns.net === undefined ? {} : { net: ns.net }) } }),
  }));

test("a start is on the wire as the encoder by descriptors writes it", () => {
  fc.assert(
    fc.property(text, fc.array(action, { maxLength: 5 }), (workflowId, actions) => {
      const cmd = { case: "startWorkflow", value: { workflow: { workflowId, actions } } } as const;
      const init = actions.map((one) => ({
        ...one,
        args: [...one.args],
        env: { ...one.env },
        volumes: [...one.volumes],
      }));
      const expected = create(schema, { cmd: { ...cmd, value: { workflow: { workflowId, actions: init } } } });
      const bytes = commandBytes({ cmd });
      expect(Buffer.compare(bytes, toBinary(schema, expected))).toBe(0);
      expect(fromBinary(schema, bytes)).toEqual(fromBinary(schema, toBinary(schema, expected)));
    }),
  );
});

test("a stop is, too", () => {
  fc.assert(
    fc.property(text, (workflowId) => {
      const cmd = { case: "stopWorkflow", value: { workflowId } } as const;
      expect(Buffer.compare(commandBytes({ cmd }), toBinary(schema, create(schema, { cmd })))).toBe(0);
    }),
  );
});
