/** The part of WebAssembly used here, which Node's types declare only in part. */
interface WebAssemblyApi {
  readonly Module: {
    new (wasm: Uint8Array): WebAssembly.Module;
    imports(module: WebAssembly.Module): readonly { readonly name: string }[];
  };
  readonly Instance: new (
    module: WebAssembly.Module,
    imports: Readonly<Record<string, object>>,
  ) => { readonly exports: object };
}

/** `buffer` is replaced when it grows. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

const { WebAssembly: api } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };

/** Blocks this thread. */
export const compileModule = (wasm: Uint8Array): WebAssembly.Module => new api.Module(wasm);

/** All of Go's imports are of one namespace. */
export const importsOf = (module: WebAssembly.Module): readonly string[] =>
  api.Module.imports(module).map(({ name }) => name);

export const instantiate = (
  module: WebAssembly.Module,
  imports: Readonly<Record<string, object>>,
): { readonly exports: object } => new api.Instance(module, imports);
