/** One thing in an archive, without its contents. */
export interface TarEntry {
  /** With `/` between its parts and none at the end. */
  readonly path: string;
  readonly type: "file" | "directory" | "link";
  /** Permission bits. */
  readonly mode: number;
  /** Bytes of a file; 0 for everything else. */
  readonly size: number;
  /** What a link says, word for word. */
  readonly target?: string;
}

/** Archives are made of blocks of this size. */
export const blockSize = 512;

/** Zero bytes from the end of a file to the end of its last block. */
export const paddingAfter = (size: number): number => (blockSize - (size % blockSize)) % blockSize;

/** Two blocks of zeros. */
export const endOfArchive: Buffer = Buffer.alloc(2 * blockSize);
