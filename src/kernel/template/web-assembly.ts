/** What we use of JavaScript's WebAssembly, which the types of Node name only in part and those of browsers declare elsewhere. */
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

/** Of an instance; `buffer` is another one after it has grown. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

const { WebAssembly: api } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };

/** Compiles in this thread. */
export const compileModule = (wasm: Uint8Array): WebAssembly.Module => new api.Module(wasm);

/** The names that a module imports; Go's are all of one namespace. */
export const importsOf = (module: WebAssembly.Module): readonly string[] =>
  api.Module.imports(module).map(({ name }) => name);

export const instantiate = (
  module: WebAssembly.Module,
  imports: Readonly<Record<string, object>>,
): { readonly exports: object } => new api.Instance(module, imports);
