import type { Clock } from "#lib/base/index.ts";
import type { Output } from "#kernel/command/index.ts";

/** A block of lines at the bottom of a terminal that is redrawn. Everything else must be written with `print`. */
export interface Live {
  /** Prints lines above the block. */
  print(lines: readonly string[]): void;
  /** Draws the block one last time and leaves it in the scrollback. */
  close(): void;
}

/** Fast enough for a spinner, slow enough for a remote terminal. */
const frameMs = 100;

/**
 * Draws what `render` returns for the number of the frame, ten times a second. The block is cut to the height of the
 * screen, because lines that scrolled away cannot be redrawn; `close` draws all of it.
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

  // One write for each frame avoids flicker.
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

/** The lines that fit the screen: the head line, and the end of the rest. */
function visible(lines: readonly string[], rows: number): readonly string[] {
  const room = Math.max(3, rows - 1);
  return lines.length <= room ? lines : [lines[0] ?? "", ...lines.slice(lines.length - room + 1)];
}
