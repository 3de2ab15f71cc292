//! Workers of folders and repositories.

use super::*;

#[test]
fn a_folder_is_built_as_it_is_and_said_to_be_dirty_if_it_is() {
    let (workshop, (driver, _git)) = (Workshop::new(), repository());
    let path = format!("path:{}", driver.path().display());
    let clean = workshop.build(&order(&path)).unwrap();
    assert!(clean.revision.as_ref().is_some_and(|revision| revision.len() == 40) && !clean.dirty, "{clean:?}");
    let manifest = fs::read_to_string(clean.lock_file.with_file_name("Cargo.toml")).unwrap();
    assert!(
        manifest.contains(&format!("path = \"{}\"", driver.path().canonicalize().unwrap().display())),
        "{manifest}"
    );
    fs::write(driver.path().join("new.rs"), "").unwrap();
    let dirty = workshop.build(&order(&path)).unwrap();
    assert!(dirty.dirty && dirty.revision == clean.revision && dirty.key != clean.key);
    fs::remove_dir_all(driver.path().join(".git")).unwrap();
    assert_eq!(workshop.build(&order(&path)).unwrap().revision, None);
}

#[test]
fn a_change_of_a_neighbour_in_the_drivers_workspace_is_another_worker() {
    let (workshop, driver) = (Workshop::new(), tempfile::tempdir().unwrap());
    for file in ["Cargo.toml", "a/Cargo.toml", "a/target/built", "b/src/target/mod.rs"] {
        let path = driver.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let path = order(&format!("path:{}", driver.path().join("a").display()));
    let first = workshop.build(&path).unwrap();
    fs::write(driver.path().join("a/target/built"), "more").unwrap();
    assert_eq!(workshop.build(&path).unwrap(), first, "what cargo built is no source");
    fs::write(driver.path().join("b/src/target/mod.rs"), "fn x() {}").unwrap();
    assert_ne!(workshop.build(&path).unwrap().key, first.key);
}

#[test]
fn a_branch_of_a_local_repository_is_built_at_its_newest_commit() {
    let (workshop, (driver, git)) = (Workshop::new(), repository());
    let main = order(&format!("git:{}#main", driver.path().display()));
    let first = workshop.build(&main).unwrap();
    assert!(!first.dirty);
    assert_eq!(workshop.build(&main).unwrap(), first);
    let mut copies = fs::read_dir(workshop.builder.cache().join("git")).unwrap().map(|entry| entry.unwrap().path());
    let copy = copies.find(|folder| folder.join(".git").exists()).unwrap();
    fs::remove_file(copy.join("Cargo.toml")).unwrap();
    assert_eq!(workshop.build(&main).unwrap(), first, "a copy that was interrupted is made again");
    fs::write(driver.path().join("new.rs"), "").unwrap();
    assert_eq!(workshop.build(&main).unwrap(), first, "what is not committed is not built");
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "Second"]);
    let second = workshop.build(&main).unwrap();
    assert!(second.revision != first.revision && second.key != first.key);
    let revision = first.revision.clone().unwrap();
    let by_commit = workshop.build(&order(&format!("git:{}#{revision}", driver.path().display()))).unwrap();
    assert_eq!(by_commit.revision, first.revision);
    let error = workshop.build(&order(&format!("git:{}#none", driver.path().display()))).unwrap_err();
    assert!(error.ends_with("it has no such commit, tag or branch; name one that it has"), "{error}");
}

#[test]
fn a_repository_has_a_root_commits_and_drivers() {
    let (workshop, (driver, _git)) = (Workshop::new(), repository());
    let builder = &workshop.builder;
    fs::create_dir(driver.path().join("src")).unwrap();
    let root = builder.repository(&driver.path().join("src")).unwrap();
    assert_eq!(root, driver.path().canonicalize().unwrap());
    let commit = builder.commit(&root, "main").unwrap();
    assert_eq!((commit.len(), builder.commit(&root, "HEAD").unwrap()), (40, commit.clone()));
    for name in ["none", "--all"] {
        let error = builder.commit(&root, name).unwrap_err().to_string();
        assert!(error.contains(&format!("they have no commit, tag or branch {name:?}")), "{error}");
    }
    assert_eq!(builder.drivers_in(&root).unwrap(), ["a"]);
    let nowhere = builder.repository(tempfile::tempdir().unwrap().path()).unwrap_err().to_string();
    assert!(nowhere.ends_with("they are in no git repository; name the folder of the driver's checkout"), "{nowhere}");
}

#[test]
fn sources_without_the_driver_are_refused() {
    let workshop = Workshop::new();
    let empty = tempfile::tempdir().unwrap();
    let error = workshop.build(&order(&format!("path:{}", empty.path().display()))).unwrap_err();
    assert!(error.ends_with("there is no Cargo.toml in it; give the folder of the driver's checkout"), "{error}");
    assert!(
        workshop.build(&order("path:/nowhere")).unwrap_err().contains("the driver's sources /nowhere cannot be used")
    );
}
