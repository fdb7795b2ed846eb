import { expect, test } from "vitest";
import { BodyPieces } from "./body-pieces.ts";

test("pieces come back in their order, however many there are", () => {
  const pieces = new BodyPieces();
  expect(pieces.joined()).toHaveLength(0);
  let text = "";
  for (let n = 0; n < 5000; n += 1) {
    pieces.add(Buffer.from(String(n)));
    text += String(n);
    if (n % 777 === 0) expect(pieces.joined().toString()).toBe(text);
  }
  expect(pieces.size).toBe(text.length);
  expect(pieces.joined().toString()).toBe(text);
});

test("a body in pieces of one byte is kept in few", () => {
  const pieces = new BodyPieces();
  for (let n = 0; n < 100_000; n += 1) pieces.add(Buffer.from("x"));
  expect(pieces.all().length).toBeLessThan(1200);
});

test("a body that came whole is not copied", () => {
  const pieces = new BodyPieces();
  const whole = Buffer.from("whole");
  pieces.add(whole);
  expect(pieces.joined()).toBe(whole);
});

test("a copy and the start are of all pieces, in buffers of their own", () => {
  const piece = Buffer.from("ab");
  const pieces = new BodyPieces(piece, Buffer.from("cd"));
  expect(Buffer.from(pieces.copied()).toString()).toBe("abcd");
  expect(pieces.copied().buffer.byteLength).toBe(4);
  expect([pieces.start(3).toString(), pieces.start(9).toString()]).toEqual(["abc", "abcd"]);
});
