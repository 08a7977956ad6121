import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const MAX_BYTES = 600_000;

/** Fails the build if the page, compressed, outgrows its bound. */
function bounded(): Plugin {
  return {
    name: "bounded",
    generateBundle(_, bundle) {
      let size = 0;
      for (const file of Object.values(bundle)) {
        size += gzipSync(file.type === "chunk" ? file.code : file.source).length;
      }
      if (size > MAX_BYTES) this.error(`the page has ${size} bytes compressed; at most ${MAX_BYTES} are allowed`);
      this.info(`the page has ${size} bytes compressed`);
    },
  };
}

export default defineConfig({
  base: "/",
  plugins: [bounded()],
  build: {
    outDir: "../src/polygraph/server/page",
    emptyOutDir: true,
    // Inlined files would be data: addresses, which the content security policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: false,
  },
});
