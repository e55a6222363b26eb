//! spider over a list of hosts as one crawl: `peer SEEDS CONCURRENCY`, until nothing is left or it is stopped.
//!
//! The allocator and the number of requests at once are what its README names for throughput; robots.txt is respected, pages are taken as they
//! come and dropped, no delay. It takes one start URL: the other hosts are allowed by name and reached by links.
use spider::tokio;
use spider::website::Website;

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&arguments[1]).expect("the file of seeds");
    let seeds: Vec<String> = text.lines().map(str::to_string).collect();
    let concurrency: usize = arguments[2].parse().expect("a number of requests at once");
    let mut website = Website::new(&seeds[0]);
    website
        .with_respect_robots_txt(true)
        .with_external_domains(Some(seeds.clone().into_iter()))
        .with_delay(0)
        .with_user_agent(Some("thresher-bench-peer (+https://example.org/bench)"))
        .with_concurrency_limit(Some(concurrency));
    let mut pages = website.subscribe(4096);
    let sink = tokio::spawn(async move { while pages.recv().await.is_ok() {} });
    website.crawl().await;
    website.unsubscribe();
    sink.abort();
}
