//! spider on many hosts as one crawl: `peer FILE CONCURRENCY`, until nothing is left or it is stopped.
//!
//! FILE: the one URL that it starts at, then, a line each, the domains that it may enter; a star is every domain. The allocator and the number
//! of requests at once are what its README names for throughput; robots.txt is respected, pages are taken as they come and dropped, no delay.
use spider::tokio;
use spider::website::Website;

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&arguments[1]).expect("the file");
    let lines: Vec<String> = text.lines().map(str::to_string).collect();
    let concurrency: usize = arguments[2].parse().expect("a number of requests at once");
    let mut website = Website::new(&lines[0]);
    website
        .with_respect_robots_txt(true)
        .with_external_domains(Some(lines.into_iter().skip(1)))
        .with_delay(0)
        .with_user_agent(Some("thresher-bench-peer (+https://example.org/bench)"))
        .with_concurrency_limit(Some(concurrency));
    let mut pages = website.subscribe(4096);
    let sink = tokio::spawn(async move { while pages.recv().await.is_ok() {} });
    website.crawl().await;
    website.unsubscribe();
    sink.abort();
}
