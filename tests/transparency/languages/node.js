// needs: node nodejs
// also: run
// also: call
// reads: in
// order: any
// writes: in sync promised streamed from-worker copied
// node: fs in its three forms, streams and pipelines, worker threads, children with pipes, file handles, watchers, errors.
const fs = require('fs'), fsp = require('fs/promises'), path = require('path');
const { pipeline } = require('stream/promises'), zlib = require('zlib');
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
const child = require('child_process'), { once } = require('events'), net = require('net');

if (!isMainThread) {
  fs.appendFileSync('from-worker', ''); // exists from the first worker on
  fs.writeFileSync(`worker-${workerData}`, 'w'.repeat(1000 * (workerData + 1)));
  parentPort.postMessage(fs.readFileSync(`worker-${workerData}`).length);
} else main().then(() => { process.exitCode = 6; });

async function main() {
  process.umask(0o022);
  fs.writeFileSync('in', Array.from({ length: 20000 }, (_, i) => i + '\n').join(''));
  const fd = fs.openSync('sync', 'w+', 0o600);
  fs.writeSync(fd, 'positioned', 5); fs.writevSync(fd, [Buffer.from('a'), Buffer.from('b')]);
  const back = Buffer.alloc(4); fs.readSync(fd, back, 0, 4, 5); console.log(back.toString());
  fs.ftruncateSync(fd, 12); fs.fsyncSync(fd); console.log(fs.fstatSync(fd).size); fs.closeSync(fd);
  await fsp.writeFile('promised', 'promised\n'); await fsp.appendFile('promised', 'and more\n');
  const handle = await fsp.open('promised', 'r'); let lines = 0;
  for await (const line of handle.readLines()) lines += line.length; console.log(lines);
  await Promise.all(Array.from({ length: 40 }, (_, i) => fsp.writeFile(`many-${i % 10}-${i}`, String(i))));
  console.log((await Promise.all(Array.from({ length: 40 }, (_, i) => fsp.readFile(`many-${i % 10}-${i}`, 'utf8')))).join(','));
  await pipeline(fs.createReadStream('in', { highWaterMark: 5000 }), fs.createWriteStream('streamed'));
  await pipeline(fs.createReadStream('in'), zlib.createGzip(), zlib.createGunzip(), fs.createWriteStream('streamed-again'));
  console.log(fs.readFileSync('in').equals(fs.readFileSync('streamed-again')));
  fs.copyFileSync('in', 'copied'); fs.renameSync('streamed-again', 'renamed'); fs.linkSync('renamed', 'hard'); fs.symlinkSync('in', 'soft');
  fs.mkdirSync('a/b/c', { recursive: true }); fs.rmSync('a', { recursive: true }); fs.cpSync('.', '../cp', { recursive: true, filter: f => !fs.statSync(f).isFile() });
  fs.rmSync('../cp', { recursive: true, force: true });
  fs.utimesSync('renamed', 1e9, 1e9); fs.chmodSync('renamed', 0o400); fs.unlinkSync('hard');
  const sizes = await Promise.all([0, 1, 2].map(async n => {
    const worker = new Worker(__filename, { workerData: n }); const [[size]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]); return size;
  }));
  console.log(sizes); fs.writeFileSync('from-worker', sizes.join());
  console.log(child.execFileSync('sort', ['-rn', 'in']).length, child.execSync('echo by sh; exit 0').toString());
  console.log(child.spawnSync('sh', ['-c', 'cat; exit 3'], { input: 'typed' }).status, child.spawnSync('sh', ['-c', 'kill -9 $$']).signal);
  const out = fs.openSync('by-child', 'w');
  const kid = child.spawn('sh', ['-c', 'echo to a file; echo to a pipe >&2'], { stdio: ['ignore', out, 'pipe'] });
  kid.stderr.on('data', data => console.log(data.toString())); console.log((await once(kid, 'close')));
  fs.writeFileSync('kid.js', 'process.on("message", m => { process.send(m * 2); process.disconnect() })');
  const forked = child.fork('./kid.js', [], { stdio: 'inherit' });
  forked.send(21); console.log((await Promise.all([once(forked, 'message'), once(forked, 'exit')]))[0][0]);
  const server = net.createServer(s => s.pipe(s)).listen('socket'); await once(server, 'listening');
  const client = net.connect('socket'); client.write('echoed'); console.log((await once(client, 'data'))[0].toString()); client.end(); server.close(); await once(server, 'close');
  for (const call of [() => fs.readFileSync('nothing'), () => fs.mkdirSync('in'), () => fs.rmdirSync('.'), () => fs.readSync(999, back)])
    try { call(); } catch (e) { console.log(e.code, e.syscall); }
  await fsp.readFile('nothing').catch(e => console.log(e.code));
  console.log(fs.readdirSync('.').sort().join(' '));
}
