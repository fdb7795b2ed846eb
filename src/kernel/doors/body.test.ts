import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { deferred } from "#lib/base/index.ts";
import { boundedText } from "./body.ts";

test("a body that is too long is refused when all of it has been sent, however slowly", async () => {
  const [asked, rest] = [deferred<void>(), deferred<void>()];
  let isSent = false;
  async function* slowly() {
    yield Buffer.from("too long");
    asked.resolve();
    await rest.promise;
    isSent = true;
    yield Buffer.from(" by far");
  }
  const read = boundedText(slowly(), 5).catch((thrown: unknown) => ({ thrown, isSent }));
  await asked.promise;
  rest.resolve();
  expect(await read).toMatchObject({ thrown: { kind: "too-large" }, isSent: true });
});

test("of one that does not end no more is read than can be meant", async () => {
  let sent = 0;
  const mebibyte = Buffer.alloc(1024 * 1024);
  async function* endless() {
    for (;;) {
      sent++;
      yield mebibyte;
    }
  }
  await expect(boundedText(endless(), 5)).rejects.toMatchObject({ kind: "too-large" });
  expect(sent).toBeLessThan(100);
});

test("a body that fits is read whole", async () => {
  const body = new PassThrough();
  body.end("fits");
  expect(await boundedText(body, 4)).toBe("fits");
  expect(await boundedText(null, 4)).toBe("");
});

test("a body that ends before it was complete is refused, also when it was cut before it was read", async () => {
  const [cut, gone] = [new PassThrough(), new PassThrough()];
  const read = boundedText(cut, 100);
  cut.write("half");
  cut.destroy();
  await expect(read).rejects.toMatchObject({ kind: "incomplete-body" });
  gone.destroy();
  await expect(boundedText(gone, 100)).rejects.toMatchObject({ kind: "incomplete-body" });
});

test("one that is too long is read on from a stream, too, and its stream stays open", async () => {
  const body = new PassThrough();
  const read = boundedText(body, 4);
  body.write("too");
  body.end(" long");
  await expect(read).rejects.toMatchObject({ kind: "too-large" });
  expect(body.errored).toBeNull();
});
