import { describe, expect, test } from "vitest";
import { cutPieces, cutText, nearestColour, parseLine, plainText } from "./ansi.ts";

const esc = "\x1b";

describe("a line of a log", () => {
  test("the sixteen colours, and marks that go together and end one by one", () => {
    const { pieces, style } = parseLine(`a${esc}[1;31mb${esc}[22mc${esc}[39;4;3md${esc}[0;92;44me`);
    expect(pieces).toEqual([
      { text: "a", style: {} },
      { text: "b", style: { bold: true, text: 1 } },
      { text: "c", style: { text: 1 } },
      { text: "d", style: { underline: true, italic: true } },
      { text: "e", style: { text: 10, ground: 4 } },
    ]);
    expect(parseLine("next", style).pieces).toEqual([{ text: "next", style: { text: 10, ground: 4 } }]);
  });

  test("256 colours and true colours become the nearest of the theme", () => {
    const { pieces } = parseLine(
      `${esc}[38;5;196mred${esc}[38;2;0;0;90mblue${esc}[48;5;240;1mgrey${esc}[38:2:0:255:0mgreen`,
    );
    expect(pieces.map(({ style }) => style)).toEqual([
      { text: 9 },
      { text: 4 },
      { text: 4, ground: 8, bold: true },
      { text: 10, ground: 8, bold: true },
    ]);
    expect(nearestColour(255, 255, 0)).toBe(11);
    expect(nearestColour(250, 250, 250)).toBe(15);
  });

  test("a progress bar shows its last state", () => {
    expect(plainText("10%\r 50%\r100%\r")).toBe("100%");
    expect(plainText("\r\n".slice(0, 1))).toBe("");
    expect(parseLine(`${esc}[31m10%\r20%`).pieces).toEqual([{ text: "20%", style: { text: 1 } }]);
  });

  test("titles, links, cursor movements, clearing, marks of direction and other controls are dropped", () => {
    const noise = [
      `${esc}]0;title\x07`,
      `${esc}]8;;javascript:alert(1)${esc}\\`,
      `${esc}[2J`,
      `${esc}[1;1H`,
      `${esc}[?25l`,
      `${esc}(B`,
      `${esc}Pq#0${esc}\\`,
      "\x9b31m",
      "\u202e",
      "\0\x07\x08",
      `${esc}c`,
    ];
    expect(plainText(`a${noise.join("b")}c`)).toBe(`a${"b".repeat(noise.length - 1)}c`);
    expect(plainText("a\tb")).toBe("a\tb");
    expect(plainText(`a${esc}`)).toBe("a");
  });

  test("a million sequences take less than a second and hold nothing", () => {
    const started = performance.now();
    expect(parseLine(`${esc}[38;5;1m`.repeat(100_000)).pieces).toEqual([]);
    expect(plainText(`${esc}]`.repeat(200_000))).toBe("");
    expect(plainText(`${esc}[${"1;".repeat(500_000)}mx`)).toBe("x");
    expect(performance.now() - started).toBeLessThan(2000);
  });

  test("cuts leave characters whole", () => {
    expect(cutText("a😀b", 2)).toBe("a");
    expect(
      cutPieces(
        [
          { text: "ab", style: {} },
          { text: "cd", style: { bold: true } },
        ],
        3,
      ),
    ).toEqual([
      { text: "ab", style: {} },
      { text: "c", style: { bold: true } },
    ]);
  });
});
