import type { Clock } from "#lib/base/index.ts";
import type { Output } from "#kernel/command/index.ts";

/**
 * A block of lines at the bottom of a terminal that is drawn again and again. Nobody else may write to the terminal
 * meanwhile but through `print`.
 */
export interface Live {
  /** Prints lines above the block, where they stay. */
  print(lines: readonly string[]): void;
  /** Draws the block a last time and leaves it in the scrollback. */
  close(): void;
}

/** Fast enough for a spinner to turn, slow enough for a terminal behind a network. */
const frameMs = 100;

/**
 * Starts drawing what `render` returns for the number of the frame, ten times a second, the first time after a tenth.
 * The block is cut to the height of the screen, because what has scrolled away cannot be drawn over; the last drawing
 * by `close` is whole.
 */
export function startLive(
  output: Output,
  clock: Clock,
  rows: () => number,
  render: (frame: number) => readonly string[],
): Live {
  let drawn = 0;
  let frame = 0;
  let cancel = tick();

  function tick() {
    return clock.after(frameMs, () => {
      frame += 1;
      draw(visible(render(frame), rows()));
      cancel = tick();
    });
  }

  // One write per frame: erase what was drawn, draw anew. Nothing flickers and a slow terminal is not flooded.
  function draw(lines: readonly string[], above: readonly string[] = []): void {
    const erase = drawn === 0 ? "" : `\x1b[${drawn}A\x1b[0J`;
    output.write(erase + [...above, ...lines].map((line) => `${line}\n`).join(""));
    drawn = lines.length;
  }

  return {
    print: (lines) => draw(visible(render(frame), rows()), lines),
    close() {
      cancel();
      draw(render(frame));
      drawn = 0;
    },
  };
}

/** What fits the screen: the head, and the end of a long block, which is what moves. */
function visible(lines: readonly string[], rows: number): readonly string[] {
  const room = Math.max(3, rows - 1);
  return lines.length <= room ? lines : [lines[0] ?? "", ...lines.slice(lines.length - room + 1)];
}
